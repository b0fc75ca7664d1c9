import type { Leadership } from '../runner/runner.ts'

/** A replica whose leadership the test switches; at first it does not lead. */
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
