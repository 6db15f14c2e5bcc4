# Compiles page.html, page.css, page.js and the chart library into the program: assets.cpp.
# The library is Chart.js (MIT licence) of Debian's package libjs-chart.js, locked to one content.
# Another build of it must be chosen on purpose, with both variables.
set(TANDEM_CHART_JS /usr/share/javascript/chart.js/chart.min.js CACHE FILEPATH
    "Chart.js, minified: package libjs-chart.js")
set(TANDEM_CHART_JS_SHA256 fbc45926e6b46845a0f905552a0e0b1331049bff1115ecf94dbe0904d895e710 CACHE STRING
    "SHA-256 that TANDEM_CHART_JS must have (this one: version 3.9.1)")

if(NOT EXISTS ${TANDEM_CHART_JS})
  message(FATAL_ERROR "${TANDEM_CHART_JS}: not found, expected Chart.js 3.9.1: install Debian's package libjs-chart.js "
                      "or say where it is: -DTANDEM_CHART_JS=FILE")
endif()
file(SHA256 ${TANDEM_CHART_JS} found_sha256)
if(NOT found_sha256 STREQUAL TANDEM_CHART_JS_SHA256)
  message(FATAL_ERROR "${TANDEM_CHART_JS}: found SHA-256 ${found_sha256}, expected ${TANDEM_CHART_JS_SHA256} (Chart.js 3.9.1). "
                      "If you mean this one: -DTANDEM_CHART_JS_SHA256=${found_sha256}")
endif()

foreach(asset page_html:page.html page_style:page.css page_script:page.js chart_licence:chart_licence.txt)
  string(REPLACE ":" ";" asset ${asset})
  list(GET asset 0 variable)
  list(GET asset 1 name)
  file(READ ${CMAKE_CURRENT_LIST_DIR}/${name} ${variable})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${name})
endforeach()
file(READ ${TANDEM_CHART_JS} chart_library)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${TANDEM_CHART_JS})
foreach(variable page_html page_style page_script chart_library chart_licence)
  if("${${variable}}" MATCHES "tandem_asset")
    message(FATAL_ERROR "${variable}: holds tandem_asset, which would end its text early")
  endif()
endforeach()
if("${page_script}${chart_library}" MATCHES "</[sS][cC][rR][iI][pP][tT]")
  message(FATAL_ERROR "a script of the page holds </script")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/assets.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/assets.cpp @ONLY)
