# Compiles the sources of a target as one file for each folder they lie in: what takes long is reading
# PyTorch's headers, not what we wrote. Folders are namespaces, so that names of one do not meet another's.
function(compile_by_folder target)
  if(NOT TORCHPLUG_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # GCC inlines the less the longer a file is.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=400>)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src)
    string(REPLACE / _ group ${folder})
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()
