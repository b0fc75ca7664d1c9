import type { ModuleImport } from './module-import.ts'
import { isTest } from './source-file.ts'

/**
 * Which module imports which. A module is a folder of `src`; a mode is `modes/<name>`,
 * `modes/<name>/driver` is what the daemon knows of it and may import that mode, and
 * `modes/mode.ts` is the contract that all modes implement. A part of another module that has
 * a row of its own is a module, too. An entry ending in `*` stands for every module whose name starts so.
 */
export const table: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  settings: ['lib'],
  telemetry: ['lib'],
  resources: ['lib'],
  storage: ['telemetry', 'lib'],
  auth: ['resources', 'lib'],
  streams: ['lib'],
  manifests: ['lib'],
  cluster: ['resources', 'lib'],
  forwarding: ['cluster', 'resources', 'lib'],
  networkpolicy: ['resources', 'lib'],
  policy: ['networkpolicy', 'resources', 'lib'],
  'policy/nftables': ['policy', 'networkpolicy', 'kernel', 'resources', 'telemetry', 'lib'],
  announcement: ['forwarding', 'resources', 'lib'],
  affinity: ['forwarding', 'lib'],
  kernel: ['telemetry', 'lib'],
  'modes/mode.ts': ['forwarding', 'lib'],
  'modes/netfilter': ['forwarding', 'kernel', 'telemetry', 'lib', 'modes/mode.ts'],
  'modes/definition': [
    'forwarding',
    'resources',
    'settings',
    'kernel',
    'telemetry',
    'lib',
    'modes/mode.ts',
    'modes/netfilter',
  ],
  'modes/*': [
    'forwarding',
    'affinity',
    'kernel',
    'telemetry',
    'lib',
    'modes/mode.ts',
    'modes/netfilter',
  ],
  'modes/*/driver': [
    'forwarding',
    'resources',
    'settings',
    'kernel',
    'telemetry',
    'lib',
    'modes/mode.ts',
    'modes/netfilter',
    'modes/definition',
  ],
  'modes/testing': ['forwarding', 'lib', 'modes/mode.ts', 'modes/netfilter', 'modes/definition'],
  explain: ['forwarding', 'kernel', 'cluster', 'resources', 'telemetry', 'lib'],
  sync: ['forwarding', 'cluster', 'modes/mode.ts', 'telemetry', 'lib'],
  'inspection/generated': [],
  'inspection/answers.ts': ['inspection/generated'],
  page: ['inspection/generated', 'inspection/answers.ts', 'lib'],
  inspection: ['inspection/generated', 'inspection/answers.ts', 'page', 'sync', 'lib'],
  client: ['resources', 'telemetry', 'lib'],
  watch: ['client', 'cluster', 'networkpolicy', 'policy', 'resources', 'telemetry', 'lib'],
  nodeproxy: [
    'lib',
    'settings',
    'telemetry',
    'resources',
    'cluster',
    'forwarding',
    'affinity',
    'announcement',
    'kernel',
    'modes/*',
    'sync',
    'client',
    'watch',
    'policy',
    'policy/nftables',
    'networkpolicy',
    'explain',
    'page',
    'inspection',
    'inspection/generated',
    'inspection/answers.ts',
    'doctor',
    'manifests',
  ],
  apiserver: ['storage', 'auth', 'streams', 'manifests', 'resources', 'telemetry', 'lib'],
  controllers: ['auth', 'watch', 'client', 'cluster', 'resources', 'telemetry', 'lib'],
  nodeagent: ['streams', 'watch', 'client', 'resources', 'telemetry', 'lib'],
  dns: ['watch', 'client', 'cluster', 'kernel', 'resources', 'settings', 'telemetry', 'lib'],
  orchdns: ['dns', 'client', 'settings', 'telemetry', 'lib'],
  doctor: ['networkpolicy', 'resources', 'lib'],
  orchctl: [
    'doctor',
    'networkpolicy',
    'manifests',
    'dns',
    'client',
    'cluster',
    'streams',
    'resources',
    'lib',
  ],
  orchserver: [
    'storage',
    'auth',
    'apiserver',
    'controllers',
    'nodeagent',
    'streams',
    'page',
    'dns',
    'watch',
    'client',
    'cluster',
  ].concat(['resources', 'telemetry', 'settings', 'lib']),
  uml: ['lib'],
  sandbox: ['*'],
}

/** The module that a path of `src` belongs to, in the words of the table. */
export function moduleOf(path: string): string {
  const [, module = '', second = '', third = ''] = path.split('/')
  const part = `${module}/${second}`
  if (module !== 'modes') return Object.hasOwn(table, part) ? part : module
  return third === 'driver' || third === 'driver.ts' ? `modes/${second}/driver` : `modes/${second}`
}

function allowedFor(from: string): readonly string[] | undefined {
  if (!from.startsWith('modes/')) return table[from]
  const mode = from.replace(/\/driver$/, '')
  if (mode !== from) return [...(table['modes/*/driver'] ?? []), mode]
  return table[from] ?? table['modes/*']
}

/** What is wrong with one import, or undefined. Tests may reach into any module. */
export function importFault(item: ModuleImport): string | undefined {
  if (!item.relative || isTest(item.from)) return undefined
  if (!item.target.startsWith('src/')) return `${item.from} leaves src: ${item.target}`
  const from = moduleOf(item.from)
  const to = moduleOf(item.target)
  if (from === to) return undefined
  const allowed = allowedFor(from)
  if (allowed === undefined) return `${item.from}: the import table lists no module ${from}`
  if (allowed.some((entry) => covers(entry, to))) return undefined
  return `${item.from} may not import ${item.target}: ${from} → ${to}`
}

function covers(entry: string, module: string): boolean {
  return entry.endsWith('*') ? module.startsWith(entry.slice(0, -1)) : entry === module
}
