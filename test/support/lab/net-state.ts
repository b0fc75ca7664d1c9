import { backendProgram } from './daemon-config.ts'
import type { Namespace } from './namespace.ts'
import type { Site } from './site.ts'

/**
 * Everything that a mode may put into a namespace, as sorted lines: chains and rules, tables of nf_tables other than
 * those of iptables, sets and members, virtual and real servers with weights, policy rules, and the routes of their
 * tables. Counters, and what the kernel has by itself, are left out.
 */
export async function netState({ namespace }: Site): Promise<readonly string[]> {
  const parts = await Promise.all([
    savedRules({ namespace }),
    tables(namespace),
    sets(namespace),
    servers(namespace),
    routing(namespace, '-4'),
    routing(namespace, '-6'),
  ])
  return parts.flat().toSorted()
}

/** The chains and rules of iptables and ip6tables. */
export async function savedRules({ namespace }: Pick<Site, 'namespace'>): Promise<string[]> {
  const programs = ['iptables-save', 'ip6tables-save']
  return (await Promise.all(programs.map((program) => rules(namespace, program)))).flat()
}

/** Matches the names of what each mode puts there. */
const NAMES = {
  iptables: 'NPROXY-',
  ipvs: 'NPVS-',
  nftables: 'table node-proxy',
  userspace: 'NPUS-',
} as const

/** A mode that leaves something in the kernel. */
export type ModeName = keyof typeof NAMES

/** The lines of what one mode put there. */
export function oursIn(state: readonly string[], mode: ModeName): readonly string[] {
  return state.filter((line) => line.includes(NAMES[mode]))
}

async function rules(namespace: Namespace, program: string): Promise<string[]> {
  let table = ''
  const saved = await namespace.exec([backendProgram(program)])
  return saved.split('\n').flatMap((line) => {
    if (line.startsWith('*')) table = `${program} ${line.slice(1)}`
    const isOurs = /^(-A|:.* - )/.test(line)
    return isOurs ? [`${table} ${line.replace(/ \[\d+:\d+\]$/, '')}`] : []
  })
}

/** The tables in which `iptables-nft` keeps its rules. */
const OF_IPTABLES = /^table ip6? (nat|filter|mangle|raw|security)$/

async function tables(namespace: Namespace): Promise<string[]> {
  const listed = await namespace.exec(['nft', 'list', 'tables']).catch(() => '')
  return linesOf(listed)
    .filter((line) => !OF_IPTABLES.test(line))
    .map((line) => line.replace(/^table (\w+) /, 'nftables $1 table '))
}

async function sets(namespace: Namespace): Promise<string[]> {
  const saved = await namespace.exec(['ipset', 'save'])
  return saved.split('\n').flatMap((line) => {
    const [action, name, type] = line.split(' ')
    if (action === 'create') return [`set ${name} ${type}`]
    return action === 'add' ? [`member ${line.slice(4)}`] : []
  })
}

/** Virtual servers; empty for a kernel without ip_vs. */
async function servers(namespace: Namespace): Promise<string[]> {
  const saved = await namespace.exec(['ipvsadm', '-Sn']).catch(() => '')
  return linesOf(saved)
}

async function routing(namespace: Namespace, family: '-4' | '-6'): Promise<string[]> {
  const rules = await namespace.exec(['ip', family, 'rule'])
  const routes = await namespace.exec(['ip', family, 'route', 'show', 'table', 'all'])
  return [
    ...linesOf(rules).map((line) => `rule ${family} ${line}`),
    ...linesOf(routes)
      .filter((line) => /\btable (?!local|main|default)/.test(line))
      .map((line) => `route ${family} ${line.trim()}`),
  ]
}

function linesOf(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
