import type { SandboxOptions } from '../run/arguments.ts'
import { WAY_IN } from '../run/other-kernel.ts'

const FLAG = /^--iptables-backend[= ](nft|legacy)$/

/** The command by which an operator destroys the daemon's rules without meaning to. */
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

/** The terminal in which typed commands find the sandbox: with another kernel, the operator enters its shell first. */
export function otherTerminal(env: Readonly<Record<string, string | undefined>>): string {
  const way = env[WAY_IN]
  return way === undefined ? 'in another terminal' : `in another terminal, after: ${way}`
}

/** The `iptables` that sees the daemon's rules: the machine's own, unless a flag names a variant. */
function iptablesProgram({ daemonFlags }: Pick<SandboxOptions, 'daemonFlags'>): string {
  const joined = daemonFlags.map((flag, i) => `${flag} ${daemonFlags[i + 1] ?? ''}`)
  const backend = [...daemonFlags, ...joined].map((flag) => FLAG.exec(flag)?.[1]).find(Boolean)
  return backend === undefined ? 'iptables' : `iptables-${backend}`
}
