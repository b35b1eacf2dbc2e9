// The libraries, which are plain scripts, as a module.
export const {h, render, Fragment, createRef} = window.preact;
export const {useState, useEffect, useLayoutEffect, useRef, useMemo, useCallback} = window.preactHooks;
export const html = window.htm.bind(h);
export const ampere = window.ampere;
