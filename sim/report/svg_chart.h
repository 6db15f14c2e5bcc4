// Small charts as SVG documents: lines and points over two axes, several panels, and bars.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tandem {

struct ChartPoint {
  double x = 0, y = 0;
  std::string label;     // shown when pointed at, and beside the point if the series says so
  bool crossed = false;  // a cross, not a dot
};

struct ChartSeries {
  std::string name;  // of the legend; empty: no entry
  std::vector<ChartPoint> points;
  bool line = true;     // joined in order
  bool markers = true;  // a dot at each
  bool labels = false;  // each point's label beside it
  int color = -1;       // index into the palette; -1: by position; -2: grey
};

struct Chart {
  std::string title;
  std::string x_label, y_label;  // with unit
  bool log_x = false;            // x > 0; ticks at the points' own values where they are few
  bool x_from_zero = false;
  double y_max = 0;  // 0: from the data; y begins at 0
  std::string note;  // below the picture; may be empty
  std::vector<ChartSeries> series;
};

/// Panels side by side, at most `columns` in a row, with one legend below each title. Points that
/// are not finite are left out. Texts are escaped; equal input gives equal bytes.
std::string chart_svg(std::span<const Chart> panels, int columns = 1);

struct Bar {
  std::string name;
  double value = 0;
};

/// Horizontal bars around zero with their values.
std::string bars_svg(const std::string& title, const std::string& value_label,
                     std::span<const Bar> bars);

/// Round numbers from `low` to `high`, about `count` of them: multiples of 1, 2 or 5 x 10^n.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace tandem
