# cmake -P: installs, moves the prefix (nothing may point back), builds and runs the consumer, runs
# the installed program and Python module, and asks for a version that is not there.
cmake_minimum_required(VERSION 3.25)

# run(what expected_status output_regex COMMAND...): status is 0 or "failure"; checks both outputs.
function(run what expected regex)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT status EQUAL 0)
    set(status failure)
  endif()
  if(NOT status STREQUAL expected OR NOT "${out}${err}" MATCHES "${regex}")
    message(FATAL_ERROR "${what}: status ${status} (expected ${expected}), output (expected to match "
                        "'${regex}'):\n${out}${err}")
  endif()
  message(STATUS "${what}: as expected")
endfunction()

file(REMOVE_RECURSE ${scratch_dir})
set(prefix "${scratch_dir}/moved prefix")
run("install" 0 "tandemConfig.cmake" ${CMAKE_COMMAND} --install ${build_dir} --prefix ${scratch_dir}/first)
file(RENAME ${scratch_dir}/first ${prefix})

set(configure ${CMAKE_COMMAND} -G ${generator} -S ${source_dir} "-DCMAKE_PREFIX_PATH=${prefix}"
              -DCMAKE_BUILD_TYPE=${build_type} -DCMAKE_CXX_COMPILER=${compiler}
              "-DCMAKE_CXX_FLAGS=${flags}")
run("configure a consumer" 0 "" ${configure} -B ${scratch_dir}/consumer)
run("build it" 0 "" ${CMAKE_COMMAND} --build ${scratch_dir}/consumer)
run("run it" 0 "1500000 ps.*no-such-trace.json.*found .*, expected .*v100_sxm2_16gb takes [0-9.]+ us.*without a trace [0-9.]+ us"
    ${scratch_dir}/consumer/consumer ${source_dir}/../../golden/replay/tiny.json
    ${prefix}/share/tandem)
run("ask for a version that is not there" failure "requested[ \n]+version \"99\""
    ${configure} -B ${scratch_dir}/wrong -Dwanted=99)

if(EXISTS ${prefix}/bin/tandem)
  run("the installed program" 0 "tandem [0-9]+\\.[0-9]+" ${CMAKE_COMMAND} -E env --unset=TANDEM_ROOT
      ${prefix}/bin/tandem --version)
  run("it finds its data" 0 "H200" ${CMAKE_COMMAND} -E env --unset=TANDEM_ROOT
      ${prefix}/bin/tandem describe gpu)
  run("it gives advice on a network" 0 "as generated" ${CMAKE_COMMAND} -E env --unset=TANDEM_ROOT
      ${prefix}/bin/tandem advise lenet5)
endif()

set(packages ${prefix}/lib/python3/dist-packages)
if(EXISTS ${packages}/tandem)
  run("the Python module and its data" 0 "moved prefix/share/tandem predicts [0-9.]+ us" ${CMAKE_COMMAND} -E env --unset=TANDEM_ROOT
      "PYTHONPATH=${packages}" ${python} -c
      "from tandem import run, _tandem\nprint(_tandem.data_root(), 'predicts', run('resnet50', gpu='h200_sxm').step.time_us, 'us')")
endif()
