# cmake -P, after a test program is linked: writes a file that adds each of its suites to ctest. One
# process a suite, not one a TEST: the tests of a suite share what they have read and simulated.
execute_process(COMMAND ${program} --gtest_list_tests OUTPUT_VARIABLE list COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${list}")
set(tests "")
foreach(line IN LISTS lines)
  if(line MATCHES "^([^ ]+)\\.( |$)")  # "Suite." or "Suite.  # TypeParam = ..."; its tests are indented
    set(suite ${CMAKE_MATCH_1})
    string(APPEND tests "add_test([==[${rung}.${suite}]==] [==[${program}]==] [==[--gtest_filter=${suite}.*]==])\n")
  endif()
endforeach()
file(WRITE ${output} "${tests}")
