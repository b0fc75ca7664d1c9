import type { Leadership } from '../runner/leadership.ts'

/** A replica that leads when a test says so; at first it does not. */
export function electable() {
  let leads = false
  const listeners = new Set<() => void>()
  const lead = (value: boolean): void => {
    leads = value
    for (const listener of listeners) listener()
  }
  const leadership: Leadership = {
    isLeader: () => leads,
    onChange: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  return { leadership, lead, listeners }
}
