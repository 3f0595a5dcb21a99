// A plot of up to an hour by uPlot, in the page's colours. Plots of one page share their cursor.
import { html, useEffect, useRef } from "./html.js";
import { clock, figure } from "./format.js";
import { useDesk } from "./parts.js";

// Sizes follow the page's letters, which are larger on a wall.
const letter = () => parseFloat(getComputedStyle(document.documentElement).fontSize);
const height = () => Math.round(letter() * 6.6);

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// The page can be used before uPlot has come: it is the largest file, and the first that nobody misses.
function whenThere(then) {
  if (window.uPlot) return then();
  document.getElementById("uplot").addEventListener("load", then, { once: true });
  return undefined;
}

function options({ width, series, zone, unit, span }) {
  const grid = { stroke: colour("line"), width: 1 };
  const axis = { stroke: colour("muted"), grid, ticks: { show: false }, font: `${Math.round(letter() * 0.78)}px system-ui, sans-serif`, gap: 4 };
  return {
    width,
    height: height(),
    padding: [8, Math.round(letter() * 1.2), 0, 0], // half of the last time stands out to the right
    legend: { show: false },
    cursor: { sync: { key: "hour" }, y: false, points: { size: 5 }, drag: { x: false, y: false } },
    select: { show: false },
    scales: { x: { time: true, range: () => span.current }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.15 : 1] } },
    axes: [
      { ...axis, size: Math.round(letter() * 1.45), space: letter() * 5, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000, zone, { seconds: false })) },
      { ...axis, size: Math.round(letter() * 3.15), space: letter() * 2.1, values: (_, ticks) => ticks.map((tick) => figure(tick)) },
    ],
    series: [
      {},
      ...series.map(({ name, tone }) => ({
        label: name,
        stroke: colour(tone),
        width: 1.5,
        fill: `${colour(tone)}22`,
        points: { show: (plot) => plot.data[0].length < 6, size: 5 },
        spanGaps: true,
        value: (_, value) => (value === null ? "–" : `${figure(value)}${unit}`),
      })),
    ],
  };
}

// `series`: [{name, tone, values}] with values at `times` (milliseconds). `summary` says in words what is to be seen.
export function Plot({ times, series, unit = "", summary }) {
  const box = useRef(null);
  const plot = useRef(null);
  const { zone } = useDesk();
  const data = [times.map((time) => time / 1000), ...series.map((each) => each.values)];
  const end = data[0][data[0].length - 1] ?? 0;
  const span = useRef([0, 0]);
  // The last hour; of a process that is younger, its life, but not less than five minutes.
  span.current = [Math.max(end - 3600, Math.min(data[0][0] ?? end, end - 300)), end];
  const make = () => {
    if (!box.current || !window.uPlot) return; // the reader has gone on, or the theme changed before uPlot came
    plot.current?.destroy();
    box.current.replaceChildren();
    const width = Math.max(120, box.current.clientWidth);
    plot.current = new window.uPlot(options({ width, series, zone, unit, span }), data, box.current);
  };
  useEffect(() => {
    whenThere(make);
    const wide = new ResizeObserver(() => {
      const width = Math.max(120, box.current?.clientWidth ?? 0);
      if (plot.current && Math.abs(plot.current.width - width) > 1) plot.current.setSize({ width, height: height() });
    });
    wide.observe(box.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", make);
    return () => {
      wide.disconnect();
      dark.removeEventListener("change", make);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [zone, series.map((each) => each.name).join()]);
  useEffect(() => {
    plot.current?.setData(data);
  }, [times, series]);
  return html`<div class="plot" role="img" aria-label=${summary} ref=${box}></div>`;
}
