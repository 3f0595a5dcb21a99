// Asking the gateway from a component: what came last stays in sight while the next is on its way.
import { useState, useEffect, useCallback, useRef } from "./html.js";

// `ask(signal)` is called at once, whenever `on` changes, and every `everyMs` while the page is in sight.
export function useLoad(ask, on = [], everyMs = 0) {
  const [state, setState] = useState({ data: null, problem: null, busy: true, at: 0 });
  const latest = useRef(ask);
  latest.current = ask;
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((number) => number + 1), []);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    const again = () => {
      if (everyMs) timer = setTimeout(() => (document.hidden ? again() : run()), everyMs);
    };
    const run = async () => {
      setState((before) => ({ ...before, busy: true }));
      try {
        const data = await latest.current(stop.signal);
        if (!stop.signal.aborted) setState({ data, problem: null, busy: false, at: Date.now() });
      } catch (problem) {
        if (!stop.signal.aborted) setState((before) => ({ ...before, problem, busy: false }));
      }
      if (!stop.signal.aborted) again();
    };
    run();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...on, turn]);
  return { ...state, reload };
}

// A list that comes in pieces: {items, cursor, searched_to, complete}. goOn() asks for the next one.
export function usePieces(ask, on = []) {
  const empty = { items: [], cursor: "", searchedTo: null, complete: false, problem: null, busy: true };
  const [state, setState] = useState(empty);
  const stop = useRef(null);
  const latest = useRef(ask);
  latest.current = ask;
  const piece = useCallback(async (cursor, before) => {
    stop.current?.abort();
    const mine = (stop.current = new AbortController());
    setState({ ...before, busy: true, problem: null });
    try {
      const got = await latest.current(cursor, mine.signal);
      if (mine.signal.aborted) return;
      setState({
        items: [...before.items, ...got.items],
        cursor: got.cursor ?? "",
        searchedTo: got.searched_to ?? null,
        complete: got.complete ?? !got.cursor,
        problem: null,
        busy: false,
      });
    } catch (problem) {
      if (!mine.signal.aborted) setState({ ...before, problem, busy: false });
    }
  }, []);
  useEffect(() => {
    piece("", empty);
    return () => stop.current?.abort();
  }, on);
  return { ...state, goOn: () => piece(state.cursor, state), reload: () => piece("", empty) };
}
