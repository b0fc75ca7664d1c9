import { expect, test } from 'vitest'
import { MODES } from '../../src/nodeproxy/config/fields/mode-registry.ts'
import { importsOf } from './module-import.ts'
import { isTest, readSources, type SourceFile } from './source-file.ts'

/**
 * Files outside a mode's folder that may name a mode, and why. The tour of `src/sandbox` shows modes, as an
 * operator chooses them; `src/explain` interprets what kernels offer, which has the same names; `src/doctor` names the modes that
 * an operator has chosen, and better ones. Everything else finds modes by the registry.
 */
const ALLOWED: ReadonlyMap<string, string> = new Map([
  [
    'src/nodeproxy/config/fields/mode-registry.ts',
    'the registry; Kubernetes: an empty mode is iptables',
  ],
  ['src/nodeproxy/kernel/rights.ts', 'the remedy for a process without rights'],
  [
    'src/nodeproxy/config/fields/configuration.ts',
    'Kubernetes: settings of all modes under iptables',
  ],
  ['src/modes/netfilter/settings/netfilter-settings.ts', 'the same section of the configuration'],
  ['src/modes/netfilter/chains/observe.ts', 'the program iptables'],
  ['src/modes/netfilter/policy-routes.ts', 'the priorities that the modes share out'],
  ['src/kernel/iptables/command-iptables.ts', 'the program iptables'],
  ['src/kernel/nftables/nftables-monitor.ts', 'the subsystem of netlink'],
  ['src/kernel/nftables/commands.ts', 'the subsystem of netlink'],
  ['src/kernel/nftables/list-tables.ts', 'the subsystem of netlink'],
  ['src/kernel/traces.ts', 'the subsystem of netlink'],
  ['src/nodeproxy/facts/daemon-knowledge.ts', 'fields of a configuration that is JSON'],
  ['src/nodeproxy/facts/daemon-knowledge.ts', 'fields of a configuration that is a file'],
  ['src/orchctl/take-over/survey.ts', 'modes of kube-proxy, and which can be beside them'],
  ['src/page/testing/fake-answers.ts', 'the mode of a node that is made up'],
  ['src/page/testing/cluster-nodes.ts', 'the mode of a node that is made up'],
])

const names = MODES.map(({ name }) => name)
const OWN = new RegExp(`^src/modes/(?:${names.join('|')})/`)
const EXEMPT = new RegExp(`${OWN.source}|^src/(?:sandbox|explain|doctor)/`)
/** A mode as a whole string, or as a section of the configuration: `config.ipvs`, `{ ipvs }`. */
const NAMED = new RegExp(
  `(['"\`])(?:${names.join('|')})\\1|\\bconfig\\.(?:ipvs|userspace)\\b|\\{ (?:ipvs|userspace)[ ,:}]|--proxy-mode=(?:${names.join('|')})`,
)

function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

function namesMode(file: SourceFile): boolean {
  const imports = importsOf(file).some(({ target }) => OWN.test(target))
  return imports || NAMED.test(withoutComments(file.text))
}

test('no file outside the folder of a mode names it', async () => {
  const sources = (await readSources('src')).filter(
    ({ path }) => !isTest(path) && !EXEMPT.test(path),
  )
  const naming = sources.filter(namesMode).map(({ path }) => path)
  expect(naming.filter((path) => !ALLOWED.has(path))).toEqual([])
  const unused = [...ALLOWED.keys()].filter((path) => !naming.includes(path))
  expect(unused).toEqual([])
})

test.each([
  ["import { GAPS } from '../modes/ipvs/gaps.ts'", true],
  ["const isOurs = mode === 'userspace'", true],
  ['const { syncPeriod } = config.ipvs', true],
  ["log.info('ipvs-like')", false],
  ['/** As in ipvs mode. */', false],
])('%s names a mode: %s', (text, named) => {
  expect(namesMode({ path: 'src/nodeproxy/a.ts', text })).toBe(named)
})
