// RUN: flash-opt %s --split-input-file --tile-to-nvtile | FileCheck %s
// RUN: flash-opt %s --split-input-file --tile-to-nvtile --nvtile-to-threads | FileCheck %s --check-prefix=THREADS
//
// From sm_90 on a phase begins before the one before it ends, and waits for it by itself.

// THREADS: flash.kernel_info = "{{.*}}\22dependent\22:false,\22entry\22:\22f_phase0\22{{.*}}\22dependent\22:true,\22entry\22:\22f_phase1\22{{.*}}\22dependent\22:true,\22entry\22:\22f_phase2\22
// THREADS: "llvm.nvvm.griddepcontrol.launch.dependents"
// THREADS: "llvm.nvvm.griddepcontrol.wait"
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = standard>
module attributes {flash.target = #flash.target<"sm_90">} {
  // CHECK-LABEL: func.func @f_phase0
  // CHECK-NOT:     wait_prerequisites
  // CHECK:         nvtile.launch_dependents
  // CHECK-NOT:     wait_prerequisites
  // CHECK-LABEL: func.func @f_phase1
  // CHECK:         nvtile.launch_dependents
  // CHECK:         nvtile.wait_prerequisites
  // CHECK-LABEL: func.func @f_phase2
  // CHECK-NOT:     launch_dependents
  // CHECK:         nvtile.wait_prerequisites
  func.func @f_phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    scf.forall (%i) in (3) {}
    return
  }
  func.func @f_phase1(%ws: memref<?xi8>) attributes {flash.kernel = 1 : i64, flash.schedule = #schedule} {
    scf.forall (%i) in (3) {}
    return
  }
  func.func @f_phase2(%ws: memref<?xi8>) attributes {flash.kernel = 2 : i64, flash.schedule = #schedule} {
    scf.forall (%i) in (3) {}
    return
  }
}

// -----

// CHECK-LABEL: func.func @g_phase0
// CHECK-NOT:   nvtile.{{launch|wait}}
// THREADS:     flash.kernel_info = "{{.*}}\22dependent\22:false,\22entry\22:\22g_phase1\22
// THREADS-NOT: griddepcontrol
#schedule = #flash.schedule<tile = [16, 16], micro = [16, 16], strategy = standard>
module attributes {flash.target = #flash.target<"sm_89">} {
  func.func @g_phase0(%ws: memref<?xi8>) attributes {flash.kernel = 0 : i64, flash.schedule = #schedule} {
    scf.forall (%i) in (3) {}
    return
  }
  func.func @g_phase1(%ws: memref<?xi8>) attributes {flash.kernel = 1 : i64, flash.schedule = #schedule} {
    scf.forall (%i) in (3) {}
    return
  }
}
