#include "sim/report/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tandem {

namespace {

constexpr double panel_width = 560, plot_height = 300, row_height = 18;
constexpr double left = 70, right = 24, title_height = 34, axis_height = 52;
constexpr std::size_t max_own_ticks = 9;  // points' own values as ticks

/// Told apart also by readers who do not see red and green as different (Okabe and Ito 2008).
constexpr const char* palette[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                   "#e69f00", "#56b4e9", "#000000", "#8c6d31"};
constexpr const char* grey = "#b8b8b8";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

template <class... Args>
void put(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

std::string tick_text(double value) { return fmt::format("{:.6g}", value + 0.0); }

bool usable(const Chart& chart, const ChartPoint& p) {
  return std::isfinite(p.x) && std::isfinite(p.y) && (!chart.log_x || p.x > 0);
}

/// A range of data on a range of pixels.
struct AxisScale {
  double low = 0, high = 1, from = 0, to = 1;
  bool log = false;
  double operator()(double v) const {
    const double a = log ? std::log(low) : low;
    const double b = log ? std::log(high) : high;
    return from + ((log ? std::log(v) : v) - a) / (b - a) * (to - from);
  }
};

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void add(double v) { low = std::min(low, v), high = std::max(high, v); }
};

struct Frame {
  AxisScale x, y;
  std::vector<double> x_ticks, y_ticks;
};

std::vector<double> own_ticks(const Chart& chart) {
  std::vector<double> values;
  for (const ChartSeries& s : chart.series) {
    for (const ChartPoint& p : s.points) {
      if (usable(chart, p)) values.push_back(p.x);
    }
  }
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Powers of two, as batch sizes are.
std::vector<double> power_ticks(double low, double high) {
  std::vector<double> ticks;
  for (double t = std::exp2(std::ceil(std::log2(low))); t <= high; t *= 2) ticks.push_back(t);
  return ticks;
}

void set_x(const Chart& chart, Extent e, Frame& f) {
  f.x.log = chart.log_x;
  const std::vector<double> own = own_ticks(chart);
  if (chart.log_x) {
    if (e.low == e.high) e.low /= 2, e.high *= 2;
    f.x.low = e.low, f.x.high = e.high;
    f.x_ticks = own.size() <= max_own_ticks ? own : power_ticks(e.low, e.high);
    return;
  }
  f.x_ticks = round_ticks(chart.x_from_zero ? std::min(0.0, e.low) : e.low, e.high, 7);
  f.x.low = f.x_ticks.front(), f.x.high = f.x_ticks.back();
}

/// `left_edge`, `top`: of the plot area.
Frame frame_of(const Chart& chart, double left_edge, double top) {
  Extent x, y;
  y.add(0);
  for (const ChartSeries& s : chart.series) {
    for (const ChartPoint& p : s.points) {
      if (usable(chart, p)) x.add(p.x), y.add(p.y);
    }
  }
  if (x.low > x.high) x.add(1);
  if (chart.y_max > 0) y.high = chart.y_max;
  Frame f;
  set_x(chart, x, f);
  f.y_ticks = round_ticks(y.low, y.high, 6);
  f.y.low = f.y_ticks.front(), f.y.high = f.y_ticks.back();
  f.x.from = left_edge, f.x.to = left_edge + panel_width - left - right;
  f.y.from = top + plot_height, f.y.to = top;
  return f;
}

void put_axes(std::string& out, const Chart& chart, const Frame& f) {
  const double x0 = f.x.from, x1 = f.x.to, y0 = f.y.from, y1 = f.y.to;
  for (const double t : f.y_ticks) {
    put(out, "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"grid\"/>\n", x0,
        x1, f.y(t), f.y(t));
    put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"end\">{}</text>\n", x0 - 6, f.y(t) + 4,
        tick_text(t));
  }
  for (const double t : f.x_ticks) {
    put(out, "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"axis\"/>\n",
        f.x(t), f.x(t), y0, y0 + 4);
    put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"middle\">{}</text>\n", f.x(t), y0 + 18,
        tick_text(t));
  }
  put(out, "<path d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\" class=\"axis\"/>\n", x0, y1, y0, x1);
  put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"middle\">{}</text>\n", (x0 + x1) / 2, y0 + 38,
      escaped(chart.x_label));
  put(out, "<text transform=\"translate({:.1f} {:.1f}) rotate(-90)\" class=\"middle\">{}</text>\n",
      x0 - 52, (y0 + y1) / 2, escaped(chart.y_label));
}

const char* color_of(const ChartSeries& s, std::size_t position) {
  if (s.color == -2) return grey;
  const std::size_t i = s.color >= 0 ? static_cast<std::size_t>(s.color) : position;
  return palette[i % std::size(palette)];
}

/// The palette comes around: dashes tell the second round apart.
const char* dash_of(std::size_t position) {
  return position < std::size(palette) ? "" : " stroke-dasharray=\"5 3\"";
}

void put_series(std::string& out, const Chart& chart, const Frame& f, std::size_t position) {
  const ChartSeries& s = chart.series[position];
  const char* color = color_of(s, position);
  std::string path;
  for (const ChartPoint& p : s.points) {
    if (!usable(chart, p)) continue;
    put(path, "{}{:.1f} {:.1f}", path.empty() ? "M" : "L", f.x(p.x), f.y(p.y));
  }
  if (s.line && !path.empty()) {
    put(out, "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", path, color,
        dash_of(position));
  }
  for (const ChartPoint& p : s.points) {
    if (!s.markers || !usable(chart, p)) continue;
    const double x = f.x(p.x), y = f.y(p.y);
    if (p.crossed) {
      put(out, "<path d=\"M{:.1f} {:.1f}l9 9m0 -9l-9 9\" stroke=\"{}\" stroke-width=\"2\">",
          x - 4.5, y - 4.5, color);
      put(out, "<title>{}</title></path>\n", escaped(p.label));
    } else {
      put(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\">", x, y, color);
      put(out, "<title>{}</title></circle>\n", escaped(p.label));
    }
    if (!s.labels) continue;
    put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{}</text>\n", x + 6, y - 6,
        escaped(p.label));
  }
}

std::size_t legend_rows(const Chart& chart) {
  return static_cast<std::size_t>(std::count_if(chart.series.begin(), chart.series.end(),
                                                [](const auto& s) { return !s.name.empty(); }));
}

void put_legend(std::string& out, const Chart& chart, double x, double y) {
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& s = chart.series[i];
    if (s.name.empty()) continue;
    if (s.line) {
      put(out, "<path d=\"M{:.1f} {:.1f}h24\" stroke=\"{}\" stroke-width=\"2\"{}/>\n", x, y - 4,
          color_of(s, i), dash_of(i));
    }
    if (s.markers) {
      put(out, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" fill=\"{}\"/>\n", x + 12, y - 4,
          color_of(s, i));
    }
    put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x + 32, y, escaped(s.name));
    y += row_height;
  }
}

double panel_height(const Chart& chart) {
  return title_height + plot_height + axis_height +
         row_height * static_cast<double>(legend_rows(chart)) + (chart.note.empty() ? 0 : 20) + 12;
}

void put_panel(std::string& out, const Chart& chart, double x, double y) {
  const Frame f = frame_of(chart, x + left, y + title_height);
  put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"title\">{}</text>\n", x + left, y + 22,
      escaped(chart.title));
  put_axes(out, chart, f);
  for (std::size_t i = 0; i < chart.series.size(); ++i) put_series(out, chart, f, i);
  const double below = y + title_height + plot_height + axis_height + 8;
  put_legend(out, chart, x + left, below);
  if (chart.note.empty()) return;
  put(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"small\">{}</text>\n", x + left,
      below + row_height * static_cast<double>(legend_rows(chart)), escaped(chart.note));
}

std::string document(double width, double height, const std::string& body) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0:.0f} {1:.0f}\">\n"
      "<style>text{{font:12px sans-serif;fill:#222}}.title{{font-size:15px;font-weight:bold}}"
      ".small{{font-size:10px;fill:#555}}.end{{text-anchor:end}}.middle{{text-anchor:middle}}"
      ".axis{{stroke:#444;fill:none}}.grid{{stroke:#e4e4e4}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{2}</svg>\n",
      width, height, body);
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  if (!(high > low)) high = low + (low == 0 ? 1 : std::abs(low));
  const double raw = (high - low) / count;
  const double decade = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / decade;
  const double step = decade * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
  std::vector<double> ticks;
  // A hair of tolerance: 0.3 / 0.1 is a little below 3.
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string chart_svg(std::span<const Chart> panels, int columns) {
  const auto per_row = static_cast<std::size_t>(std::max(1, columns));
  std::string body;
  double y = 0;
  for (std::size_t first = 0; first < panels.size(); first += per_row) {
    double height = 0;
    for (std::size_t c = 0; c < per_row && first + c < panels.size(); ++c) {
      put_panel(body, panels[first + c], panel_width * static_cast<double>(c), y);
      height = std::max(height, panel_height(panels[first + c]));
    }
    y += height;
  }
  const std::size_t used = std::clamp<std::size_t>(panels.size(), 1, per_row);
  return document(panel_width * static_cast<double>(used), std::max(y, 40.0), body);
}

std::string bars_svg(const std::string& title, const std::string& value_label,
                     std::span<const Bar> bars) {
  constexpr double names = 210, width = 680, bar = 20, gap = 6, values = 60;
  Extent e;
  e.add(0);
  for (const Bar& b : bars) {
    if (std::isfinite(b.value)) e.add(b.value);
  }
  const std::vector<double> ticks = round_ticks(e.low, e.high, 6);
  const AxisScale x{ticks.front(), ticks.back(), names + values, width - values, false};
  const double bottom = title_height + (bar + gap) * static_cast<double>(bars.size());
  std::string body;
  put(body, "<text x=\"16\" y=\"22\" class=\"title\">{}</text>\n", escaped(title));
  for (const double t : ticks) {
    put(body,
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>\n",
        x(t), title_height, bottom);
    put(body, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"middle\">{}</text>\n", x(t), bottom + 16,
        tick_text(t));
  }
  double y = title_height + gap / 2;
  for (const Bar& b : bars) {
    put(body, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"end\">{}</text>\n", names, y + 14,
        escaped(b.name));
    if (std::isfinite(b.value)) {
      const double a = std::min(x(0), x(b.value)), c = std::max(x(0), x(b.value));
      put(body, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>\n", a,
          y, c - a, bar, palette[b.value < 0 ? 0 : 1]);
      put(body, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{:+.2f}</text>\n",
          b.value < 0 ? a - 4 : c + 4, y + 14, b.value < 0 ? "end" : "", b.value);
    }
    y += bar + gap;
  }
  put(body, "<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"middle\">{}</text>\n", (x.from + x.to) / 2,
      bottom + 36, escaped(value_label));
  return document(width, bottom + 48, body);
}

}  // namespace tandem
