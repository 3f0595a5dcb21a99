// Preact and htm as one import. Everything that is shown goes through html``, which makes text of text: nothing in this
// folder writes markup from strings, and the page's policy (Trusted Types) would not let it.
import { h, render, createContext } from "../vendor/preact/preact.mjs";
import { useState, useEffect, useRef, useMemo, useCallback, useContext } from "../vendor/preact/hooks.mjs";
import htm from "../vendor/htm/htm.module.js";
import { upright } from "./format.js";

// What others sent does not change the order of what stands beside it.
export const html = htm.bind((type, props, ...children) => h(type, props, ...children.map(upright)));
export { render, createContext, useState, useEffect, useRef, useMemo, useCallback, useContext };
