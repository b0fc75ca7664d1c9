import type { RuleMonitor } from './rule-monitor.ts'

/** Where nothing can be heard: only verification finds what others changed. */
export const deafMonitor: RuleMonitor = {
  start: () => () => undefined,
  hold: () => () => undefined,
}
