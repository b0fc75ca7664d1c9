import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { expect, test } from 'vitest'
import { knownControllers } from '../../src/controllers/known-controllers.ts'
import type { CommandEntry } from '../../src/nodeproxy/commands/command-module.ts'
import { COMMANDS } from '../../src/nodeproxy/commands/commands.ts'
import { SETTINGS_TABLE as nodeProxy } from '../../src/nodeproxy/config/settings-table.ts'
import { SETTINGS_TABLE as orchDns } from '../../src/orchdns/program.ts'
import { KUBECONFIG_TABLE } from '../../src/orchserver/command/run-kubeconfig.ts'
import { NODE_CERTIFICATE_TABLE } from '../../src/orchserver/command/run-node-certificate.ts'
import { SETTINGS_TABLE as orchServer } from '../../src/orchserver/config/settings-table.ts'
import { helpText } from '../../src/settings/help.ts'
import { isExplained, METRIC_PREFIX } from './explained-metrics.ts'
import { root } from './source-file.ts'

interface Page {
  readonly path: string
  readonly text: string
}

const folders = ['docs', 'src', 'config', 'docker', 'packaging', 'examples'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    (entry) => `${folder}/${entry}`,
  ),
)
const pages: readonly Page[] = ['README.md', 'CONTRIBUTING.md', ...folders]
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** What `pattern` finds on the pages and `isKnown` does not know. */
function unknown(pattern: RegExp, isKnown: (match: RegExpMatchArray) => boolean): string[] {
  return pages.flatMap(({ path, text }) =>
    [...text.matchAll(pattern)]
      .filter((match) => !isKnown(match))
      .map(([all]) => `${path}: ${all}`),
  )
}

function textOf(wanted: string): string {
  return pages.find(({ path }) => path === wanted)?.text ?? ''
}

test('commands of the documentation have flags that exist', async () => {
  const known = new Map([
    [nodeProxy.program, flagsOf(helpText(nodeProxy))],
    ...(await Promise.all(COMMANDS.map(flagsOfCommand))),
    [orchDns.program, flagsOf(helpText(orchDns))],
    [orchServer.program, flagsOf(helpText(orchServer) + helpText(KUBECONFIG_TABLE))],
    [NODE_CERTIFICATE_TABLE.program, flagsOf(helpText(NODE_CERTIFICATE_TABLE))],
  ])
  // The charts have the names of the programs.
  const command =
    /(?<!\bhelm \S+ |\bcharts\/)\b(node-proxy|orch-server|orch-dns)((?: (?:[^\s`|#…&;\\]|\\\n +)+)+)/g
  const isKnown = ([, program = '', words = '']: RegExpMatchArray): boolean => {
    const [first = ''] = words.trim().split(/\s/)
    const flags = known.get(`${program} ${first}`) ?? known.get(program)
    return flagsOf(words).every((flag) => flags?.includes(flag))
  }
  expect(unknown(command, isKnown)).toEqual([])
})

/** Commands that take the flags of the daemon, too. */
const WITH_DAEMON_FLAGS = ['plan']

/** The flags of `node-proxy NAME`. */
async function flagsOfCommand(entry: CommandEntry): Promise<[name: string, flags: string[]]> {
  const { define } = await entry.load()
  const command = new Command(entry.name)
  const { signal } = new AbortController()
  const stream = { write: () => undefined }
  const host = { stdout: stream, stderr: stream, version: '1', signal }
  define(command, { host, finish: () => undefined })
  const flags = command.options.flatMap(({ long }) => long ?? [])
  const daemon = WITH_DAEMON_FLAGS.includes(entry.name) ? flagsOf(helpText(nodeProxy)) : []
  return [`${nodeProxy.program} ${entry.name}`, ['--help', ...flags, ...daemon]]
}

function flagsOf(text: string): readonly string[] {
  return text.match(/(?<=\s)--[a-z][\w-]+/g) ?? []
}

test('metrics that the documentation names are explained', () => {
  const metric = new RegExp(`\`(${METRIC_PREFIX}\\w+)[\`{[(]`, 'g')
  expect(unknown(metric, ([, name = '']) => isExplained(name))).toEqual([])
})

test('codes that the documentation names stand in docs/errors.md', () => {
  const catalogue = textOf('docs/errors.md')
  const code = /`(NP_[A-Z0-9]+_[A-Z0-9_]+)`/g
  expect(unknown(code, ([, name]) => catalogue.includes(`| ${name} |`))).toEqual([])
})

test('docs/operate/orch-server.md names every controller that can be chosen', () => {
  const rows = textOf('docs/operate/orch-server.md').match(/\| controller \|[^#]*/)?.[0] ?? ''
  const named = [...rows.matchAll(/`(\w+)`(?=[^|]*\|[^|]*\|$)/gm)].map(([, name]) => name)
  expect(named).toEqual(knownControllers().map(({ name }) => name))
})
