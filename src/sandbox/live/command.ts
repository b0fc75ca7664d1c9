/** What a key requests. */
export type Command =
  | { readonly kind: 'scale'; readonly by: 1 | -1 }
  /** Kills the pod, or starts it when it is dead. */
  | { readonly kind: 'toggle'; readonly pod: string }
  | { readonly kind: 'quit' }

const CTRL_C = '\u0003'

/** The command of a key, or undefined. */
export function commandOf(key: string): Command | undefined {
  if (key === '+' || key === '=') return { kind: 'scale', by: 1 }
  if (key === '-') return { kind: 'scale', by: -1 }
  if (/^[123]$/.test(key)) return { kind: 'toggle', pod: `pod-${key}` }
  if (key === 'q' || key === CTRL_C) return { kind: 'quit' }
  return undefined
}
