import type { SandboxOptions } from './arguments.ts'

const FLAG = /^--iptables-backend[= ](nft|legacy)$/

/** The `iptables` that sees the daemon's rules: the machine's own, unless a flag names a back end. */
export function iptablesProgram({ daemonFlags }: Pick<SandboxOptions, 'daemonFlags'>): string {
  const joined = daemonFlags.map((flag, i) => `${flag} ${daemonFlags[i + 1] ?? ''}`)
  const backend = [...daemonFlags, ...joined].map((flag) => FLAG.exec(flag)?.[1]).find(Boolean)
  return backend === undefined ? 'iptables' : `iptables-${backend}`
}
