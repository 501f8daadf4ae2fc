// What the page uses of preact, htm and signals.
export type Signal<T> = { value: T; peek(): T };
export function signal<T>(value: T): Signal<T>;
export function computed<T>(make: () => T): Signal<T>;
export function effect(run: () => void | (() => void)): () => void;
export function batch<T>(run: () => T): T;
export function untracked<T>(run: () => T): T;
export function useSignal<T>(value: T): Signal<T>;
export function useComputed<T>(make: () => T): Signal<T>;
export function useSignalEffect(run: () => void | (() => void)): void;
export function useCallback<T>(run: T, inputs: unknown[]): T;
export function useEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useMemo<T>(make: () => T, inputs: unknown[]): T;
export function useRef<T>(value: T): { current: T };
export function useState<T>(value: T | (() => T)): [T, (value: T) => void];
export function html(strings: TemplateStringsArray, ...values: any[]): any;
export function h(type: any, props: any, ...children: any[]): any;
export function render(element: any, place: Element): void;
export const Fragment: any;
export class Component {
  constructor(props: any);
  props: any;
  state: any;
  setState(state: any): void;
}
