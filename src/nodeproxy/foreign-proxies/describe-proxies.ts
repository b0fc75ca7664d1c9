import type { FoundProxy } from './find-proxies.ts'

const PAGE = 'docs/operate/take-over.md'

/** What an operator has to know of proxies that were found; `heldPorts`: ours, by others. */
export function describeProxies(
  found: readonly FoundProxy[],
  heldPorts: readonly number[],
): string {
  const descriptions = found.map((proxy) => describeProxy(proxy, heldPorts))
  return (
    `another Service proxy is on this node: ${descriptions.join('; ')}. ` +
    `The proxy that started last decides where packets go, and rules without a process go stale; see ${PAGE}`
  )
}

function describeProxy(
  { signature, traces, pids }: FoundProxy,
  heldPorts: readonly number[],
): string {
  const { proxy, remedy } = signature
  return `${proxy}, ${activity(pids, heldPorts)}: ${traces.join(', ')}; remedy: ${remedy}`
}

function activity(pids: readonly number[], heldPorts: readonly number[]): string {
  if (pids.length > 0) return `at work (pid ${pids.join(', ')})`
  if (heldPorts.length > 0) {
    return `probably at work (another process holds port ${heldPorts.join(', ')})`
  }
  return 'probably left behind (no process of it is visible from here)'
}
