import { kubeProxy, nodeProxy } from './proxies.ts'
import { RULES } from './rules.ts'
import type { Subject } from './subject.ts'

const PORTS = ['keep', 'random'] as const

/** All subjects, of which a machine may be able to run only some. */
export const SUBJECTS: readonly Subject[] = [
  ...RULES,
  ...PORTS.map((ports) => nodeProxy('nft', ports)),
  ...PORTS.map((ports) => nodeProxy('legacy', ports)),
  ...PORTS.map((ports) => nodeProxy('nftables', ports)),
  ...PORTS.map((ports) => nodeProxy('ipvs', ports)),
  nodeProxy('userspace'),
  ...kubeProxy(),
]

/** The subjects whose names equal, or begin with, one of the words. */
export function subjectsNamed(names: readonly string[]): readonly string[] {
  const named = (begin: string) =>
    SUBJECTS.map(({ name }) => name).filter((name) => `${name} `.startsWith(`${begin} `))
  return names.flatMap((begin) => {
    const found = named(begin)
    if (found.length === 0)
      throw new Error(`--subjects: nothing is called ${JSON.stringify(begin)}`)
    return found
  })
}

export function needsIpvs(name: string): boolean {
  return name.startsWith('node-proxy ipvs')
}
