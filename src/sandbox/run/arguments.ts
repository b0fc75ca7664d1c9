import { parseArgs } from 'node:util'
import { messageOf } from '../../lib/error.ts'

export interface SandboxOptions {
  /** The proxy mode; passed to the daemon unchecked, which knows the modes that exist. */
  readonly mode: string
  /** Whether to run the tour instead of the screen. */
  readonly once: boolean
  /** Further flags for the daemon. */
  readonly daemonFlags: readonly string[]
}

export type Arguments =
  | { readonly kind: 'run'; readonly options: SandboxOptions }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly problem: string }

export const USAGE = `Usage: npm start -- [options] [-- flags of node-proxy]

A live sandbox: one node with three pods, an API server, an outside client, and
node-proxy forwarding real requests, all in network namespaces of their own.
The machine's own addresses, routes, rules and settings stay as they are.

  --proxy-mode=MODE   how node-proxy forwards: iptables (default), nftables, userspace
                      or ipvs. Where the kernel has no ip_vs, ipvs mode runs in
                      another one (User-mode Linux). NP_PROXY_MODE means the same
  --once              walk through the tour, print every step, and exit: 0 only
                      if every request was answered as expected
  --help              print this

Without --once it runs until Ctrl-C, q or SIGTERM. Whatever way it ends, it
removes everything that it made; what a killed run left goes at the next start.

Examples:
  npm start
  npm start -- --once
  npm start -- --proxy-mode=iptables -- --iptables-backend=legacy --v=4
`

/** Reads the arguments after `npm start --`; NP_PROXY_MODE is the mode if no argument names one. */
export function readArguments(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>> = {},
): Arguments {
  const end = args.indexOf('--')
  const own = end < 0 ? args : args.slice(0, end)
  const daemonFlags = end < 0 ? [] : args.slice(end + 1)
  try {
    const { values } = parseArgs({
      args: [...own],
      options: {
        'proxy-mode': { type: 'string', default: env['NP_PROXY_MODE'] ?? 'iptables' },
        once: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    if (values.help) return { kind: 'help' }
    const { 'proxy-mode': mode, once } = values
    return { kind: 'run', options: { mode, once, daemonFlags } }
  } catch (error) {
    return { kind: 'wrong', problem: firstLine(error) }
  }
}

function firstLine(error: unknown): string {
  const text = messageOf(error)
  return text.split('\n')[0] ?? text
}
