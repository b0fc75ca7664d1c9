import type { SandboxOptions } from './arguments.ts'

const FLAG = /^--iptables-backend[= ](nft|legacy)$/

/** What somebody types who destroys the daemon's work without meaning to. */
export function flushCommand(
  options: Pick<SandboxOptions, 'mode' | 'daemonFlags'>,
): readonly string[] {
  return options.mode === 'ipvs' ? ['ipvsadm', '-C'] : [iptablesProgram(options), '-t', 'nat', '-F']
}

/** What shows that work: the virtual servers, or the rules. */
export function showCommand(
  options: Pick<SandboxOptions, 'mode' | 'daemonFlags'>,
): readonly string[] {
  return options.mode === 'ipvs'
    ? ['ipvsadm', '-Ln']
    : [iptablesProgram(options), '-t', 'nat', '-S']
}

/** The `iptables` that sees the daemon's rules: the machine's own, unless a flag names a back end. */
function iptablesProgram({ daemonFlags }: Pick<SandboxOptions, 'daemonFlags'>): string {
  const joined = daemonFlags.map((flag, i) => `${flag} ${daemonFlags[i + 1] ?? ''}`)
  const backend = [...daemonFlags, ...joined].map((flag) => FLAG.exec(flag)?.[1]).find(Boolean)
  return backend === undefined ? 'iptables' : `iptables-${backend}`
}
