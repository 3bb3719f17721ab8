# find_package(torchplug) for programs in C++: the target torchplug::torchplug, with torchplug's headers and
# library and those of the PyTorch beside which it is installed. No Python is asked or linked.
# -Dtorchplug_DIR="$(python -c 'from torchplug import cpp_extension; print(cpp_extension.cmake_directory())')"

get_filename_component(_torchplug_dir "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
get_filename_component(_torchplug_torch "${_torchplug_dir}/../torch" ABSOLUTE)
if(NOT EXISTS "${_torchplug_torch}/lib/libtorch_cpu.so")
  set(torchplug_FOUND FALSE)
  set(torchplug_NOT_FOUND_MESSAGE "There is no PyTorch in ${_torchplug_torch}: install torch where torchplug is installed.")
  return()
endif()

if(NOT TARGET torchplug::torchplug)
  add_library(torchplug::torchplug SHARED IMPORTED)
  set_target_properties(
    torchplug::torchplug
    PROPERTIES
      IMPORTED_LOCATION "${_torchplug_dir}/libtorchplug.so"
      INTERFACE_COMPILE_FEATURES cxx_std_20
      INTERFACE_INCLUDE_DIRECTORIES
      "${_torchplug_dir}/include;${_torchplug_torch}/include;${_torchplug_torch}/include/torch/csrc/api/include"
      INTERFACE_LINK_LIBRARIES
      "${_torchplug_torch}/lib/libtorch_cpu.so;${_torchplug_torch}/lib/libtorch.so;${_torchplug_torch}/lib/libc10.so")
endif()
unset(_torchplug_dir)
unset(_torchplug_torch)
