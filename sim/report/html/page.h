// A report as one HTML page that needs no network: sections of plain blocks. What a command has to
// say it puts into a Page; how that looks is the business of page.html, page.css and page.js.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace tandem::html {

/// What is not known: left out of a chart, an empty cell of a table.
inline constexpr double page_unknown = std::numeric_limits<double>::quiet_NaN();

// Units of numbers: "us", "B", "J", "W", "ratio" (shown as percent), "count" or any other text,
// which is shown as it is. Texts may be any bytes: what is not UTF-8 is replaced.

/// A number as people read it, with its unit in the text; large on the page.
struct Figure {
  std::string name, value;
  std::string note;  // small, below
};
struct Figures {
  std::vector<Figure> figures;
};

/// A time within the interval where nine of ten measurements lie.
struct BandBar {
  std::string name;
  double low = 0, value = 0, high = 0;
  std::string unit;
};

/// Something that the reader must know before using the numbers.
struct Note {
  std::string kind;  // info, warning or data_loss
  std::string title, text;
};
struct Notes {
  std::vector<Note> notes;
};

struct BarSeries {
  std::string name;                         // of the legend; empty: no entry
  std::vector<double> values;               // one a bar
  std::vector<double> low = {}, high = {};  // error bars; empty: none
};
/// Bars from left to right, or lying where `lying`; several series stand side by side or, where
/// `stacked`, on each other.
struct BarChart {
  std::string title;
  std::string axis;  // of the values, without its unit
  std::string unit;
  std::vector<std::string> bars;
  std::vector<BarSeries> series;
  std::string bar_axis = {};  // of the bars, where their names do not say it
  double most = 0;            // end of the axis; 0: from the data
  bool lying = true;
  bool stacked = false;
};

struct XyPoint {
  double x = 0, y = 0;
  std::string label;                               // shown when pointed at
  double low = page_unknown, high = page_unknown;  // error bar of y
  bool crossed = false;                            // drawn as a cross; see XyChart::crossed_means
};
struct XySeries {
  std::string name;
  std::vector<XyPoint> points;
  bool line = true;    // joined in order
  bool guide = false;  // a thin line without markers: a limit or a goal
};
struct XyChart {
  std::string title;
  std::string x_axis, y_axis;  // without unit
  std::string x_unit, y_unit;
  std::vector<XySeries> series;
  bool log_x = false, log_y = false;
  bool y_from_zero = false;
  std::string crossed_means = {};
};

/// What ran when: rows of slices over one axis of time, which the reader zooms.
struct TrackSlice {
  std::int64_t begin_ns = 0, length_ns = 0;
  std::string name, detail;
  std::size_t kind = 0;  // index of Tracks::kinds
};
struct Track {
  std::string name;
  std::vector<TrackSlice> slices;  // by begin; none overlaps another
};
struct Tracks {
  std::string title;
  std::vector<std::string> kinds;  // each its colour; the legend
  std::vector<Track> tracks;
};

/// A number, a text or nothing.
using TableCell = std::variant<std::monostate, double, std::string>;
struct TableColumn {
  std::string name;
  std::string unit = {};   // of numbers; empty: texts
  std::string about = {};  // what it says
  bool beneath = false;    // sentences: they stand under their row, across the whole table
};
/// Sorted by any column, filtered by text.
struct Table {
  std::string title;
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;  // in the order that is shown first
};

using Block = std::variant<Figures, BandBar, Notes, BarChart, XyChart, Tracks, Table>;

struct Section {
  std::string title;
  std::string text;  // what it answers, in a sentence or two
  std::vector<Block> blocks;
};

struct Page {
  std::string title, subtitle;
  std::vector<Section> sections;
};

/// What a block shows at most; the page says what it leaves out.
struct PageLimits {
  std::size_t slices = 12'000;  // of all tracks of a block; the longest stay
  std::size_t rows = 2'000;     // of a table; the first stay
  std::size_t points =
      1'000;  // of an xy chart; of more, every second, third ... and the crossed stay
};

/// The page as HTML: its data as JSON once, style, script and chart library within. No text of the
/// page can become markup or script.
std::string page_html(const Page& page, const PageLimits& limits = {});

}  // namespace tandem::html
