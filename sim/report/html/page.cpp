#include "sim/report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "sim/report/html/assets.h"

namespace tandem::html {

namespace {

using Json = nlohmann::ordered_json;

/// Six digits are more than any model knows, and keep the page small.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (value == std::trunc(value) && std::abs(value) < 1e15) {
    return static_cast<std::int64_t>(value);
  }
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(number(v));
  return list;
}

Json block_json(const Figures& block, const PageLimits&) {
  Json list = Json::array();
  for (const Figure& f : block.figures) list.push_back({f.name, f.value, f.note});
  return {{"kind", "figures"}, {"figures", std::move(list)}};
}

Json block_json(const BandBar& b, const PageLimits&) {
  return {{"kind", "band"},           {"name", b.name},         {"low", number(b.low)},
          {"value", number(b.value)}, {"high", number(b.high)}, {"unit", b.unit}};
}

Json block_json(const Notes& block, const PageLimits&) {
  Json list = Json::array();
  for (const Note& n : block.notes) list.push_back({n.kind, n.title, n.text});
  return {{"kind", "notes"}, {"notes", std::move(list)}};
}

Json block_json(const BarChart& c, const PageLimits&) {
  Json series = Json::array();
  for (const BarSeries& s : c.series) {
    series.push_back({{"name", s.name},
                      {"values", numbers(s.values)},
                      {"low", numbers(s.low)},
                      {"high", numbers(s.high)}});
  }
  return {{"kind", "bars"},         {"title", c.title},
          {"axis", c.axis},         {"unit", c.unit},
          {"bars", c.bars},         {"bar_axis", c.bar_axis},
          {"most", number(c.most)}, {"lying", c.lying},
          {"stacked", c.stacked},   {"series", std::move(series)}};
}

bool drawn(const XyChart& c, const XyPoint& p) {
  return std::isfinite(p.x) && std::isfinite(p.y) && (!c.log_x || p.x > 0) && (!c.log_y || p.y > 0);
}

/// Every how manyth point of a series stays; 1: all do.
std::size_t stride_of(const XyChart& c, const XySeries& series, std::size_t most) {
  std::size_t all = 0;
  for (const XySeries& s : c.series) all += s.points.size();
  if (all <= most) return 1;
  return series.points.size() / std::max<std::size_t>(1, most / c.series.size()) + 1;
}

Json block_json(const XyChart& c, const PageLimits& limits) {
  Json series = Json::array();
  std::size_t left_out = 0;
  for (const XySeries& s : c.series) {
    const std::size_t stride = stride_of(c, s, limits.points);
    Json points = Json::array();
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      const XyPoint& p = s.points[i];
      if (!drawn(c, p)) continue;
      if (i % stride != 0 && !p.crossed) {
        ++left_out;
        continue;
      }
      points.push_back(
          {number(p.x), number(p.y), number(p.low), number(p.high), p.crossed ? 1 : 0, p.label});
    }
    series.push_back(
        {{"name", s.name}, {"line", s.line}, {"guide", s.guide}, {"points", std::move(points)}});
  }
  return {{"kind", "xy"},
          {"title", c.title},
          {"x_axis", c.x_axis},
          {"y_axis", c.y_axis},
          {"x_unit", c.x_unit},
          {"y_unit", c.y_unit},
          {"log_x", c.log_x},
          {"log_y", c.log_y},
          {"y_from_zero", c.y_from_zero},
          {"crossed", c.crossed_means},
          {"left_out", left_out},
          {"series", std::move(series)}};
}

/// Texts that repeat are written once and referred to by number.
class Texts {
 public:
  std::size_t id(const std::string& text) {
    const auto [at, is_new] = index_.emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return at->second;
  }
  Json list() const { return list_; }

 private:
  std::unordered_map<std::string, std::size_t> index_;
  std::vector<std::string> list_;
};

/// The length that the longest `most` slices have at least.
std::int64_t least_length(const Tracks& block, std::size_t most) {
  std::vector<std::int64_t> lengths;
  for (const Track& track : block.tracks) {
    for (const TrackSlice& s : track.slices) lengths.push_back(s.length_ns);
  }
  if (lengths.size() <= most) return 0;
  const auto at = lengths.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(lengths.begin(), at, lengths.end(), std::greater<>());
  return *at + 1;
}

Json block_json(const Tracks& block, const PageLimits& limits) {
  const std::int64_t least = least_length(block, limits.slices);
  Texts texts;
  Json tracks = Json::array();
  std::size_t left_out = 0;
  for (const Track& track : block.tracks) {
    Json slices = Json::array();  // begin, length, name, detail, kind; one flat list is shortest
    for (const TrackSlice& s : track.slices) {
      if (s.length_ns < least) {
        ++left_out;
        continue;
      }
      slices.push_back(s.begin_ns);
      slices.push_back(s.length_ns);
      slices.push_back(texts.id(s.name));
      slices.push_back(texts.id(s.detail));
      slices.push_back(s.kind);
    }
    tracks.push_back({{"name", track.name}, {"slices", std::move(slices)}});
  }
  return {{"kind", "tracks"},      {"title", block.title},        {"kinds", block.kinds},
          {"texts", texts.list()}, {"tracks", std::move(tracks)}, {"left_out", left_out},
          {"shortest_ns", least}};
}

Json cell_json(const TableCell& cell) {
  if (const auto* value = std::get_if<double>(&cell)) return number(*value);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return nullptr;
}

Json block_json(const Table& t, const PageLimits& limits) {
  Json columns = Json::array();
  for (const TableColumn& c : t.columns) columns.push_back({c.name, c.unit, c.about, c.beneath});
  Json rows = Json::array();
  for (std::size_t r = 0; r < std::min(limits.rows, t.rows.size()); ++r) {
    Json row = Json::array();
    for (const TableCell& cell : t.rows[r]) row.push_back(cell_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"kind", "table"},
          {"title", t.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"all_rows", t.rows.size()}};
}

Json page_json(const Page& page, const PageLimits& limits) {
  Json sections = Json::array();
  for (const Section& s : page.sections) {
    Json blocks = Json::array();
    for (const Block& block : s.blocks) {
      blocks.push_back(std::visit([&](const auto& b) { return block_json(b, limits); }, block));
    }
    sections.push_back({{"title", s.title}, {"text", s.text}, {"blocks", std::move(blocks)}});
  }
  return {{"schema", "tandem.page/1"},
          {"tandem_version", TANDEM_VERSION},
          {"title", page.title},
          {"subtitle", page.subtitle},
          {"sections", std::move(sections)}};
}

/// JSON that may stand in a script element: ASCII, and no `<`, so that nothing ends the element.
std::string script_json(const Json& json) {
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

/// Text between tags; other bytes than ASCII are left to the title in the data.
std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += c != '\n' && (u < 0x20 || u > 0x7e) ? '?' : c;
    }
  }
  return out;
}

/// `{{name}}` in the template becomes `parts[name]`; parts are not searched themselves.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& parts) {
  std::string out;
  for (;;) {
    const std::size_t open = text.find("{{");
    if (open == std::string_view::npos) return out += text;
    const std::size_t close = text.find("}}", open);
    out += text.substr(0, open);
    out += parts.at(text.substr(open + 2, close - open - 2));
    text.remove_prefix(close + 2);
  }
}

}  // namespace

std::string page_html(const Page& page, const PageLimits& limits) {
  const PageAssets assets = page_assets();
  return filled(assets.html, {{"title", html_text(page.title)},
                              {"style", std::string(assets.style)},
                              {"licence", html_text(assets.chart_licence)},
                              {"library", std::string(assets.chart_library)},
                              {"script", std::string(assets.script)},
                              {"data", script_json(page_json(page, limits))}});
}

}  // namespace tandem::html
