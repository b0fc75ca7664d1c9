import type { RuleMonitor } from './rule-monitor.ts'

/** Where no notification can be received: only verification finds foreign changes. */
export const noopMonitor: RuleMonitor<never> = {
  start: () => () => undefined,
  hold: () => () => undefined,
}
