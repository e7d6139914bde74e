// Exists to own the precompiled header that all MLIR libraries of flashc reuse.
