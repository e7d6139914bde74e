# Writes a C++ file with the texts of files in it:
#
#   cmake -DROOT=DIR -DFILES=a,b -DOUT=FILE.cpp -P EmbedTexts.cmake
#
# It defines flashc::embeddedTexts, pairs of a name relative to ROOT and a text (see
# runtime/CUDA/Templates.cpp).
string(REPLACE "," ";" names "${FILES}")
set(code "#include \"runtime/CUDA/EmbeddedTexts.h\"\n\nnamespace flashc {\nconst EmbeddedText embeddedTexts[] = {\n")
foreach(name IN LISTS names)
  file(READ ${ROOT}/${name} text)
  string(APPEND code "{\"${name}\", R\"flashc(${text})flashc\"},\n")
endforeach()
string(APPEND code "};\nconst std::size_t numEmbeddedTexts = sizeof(embeddedTexts) / sizeof(EmbeddedText);\n} // namespace flashc\n")
file(WRITE ${OUT} "${code}")
