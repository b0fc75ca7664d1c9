import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { executionsIn, isExecuted, isMention } from '../support/pages/executed-commands.ts'
import {
  commandsOf,
  commandsOfBlocks,
  type PageCommand,
  PROGRAMS,
  programOf,
} from '../support/pages/page-commands.ts'
import { pageText } from '../support/pages/page-section.ts'
import { UNEXECUTED } from '../support/pages/unexecuted-commands.ts'
import { root } from './source-file.ts'

/** Every command that a page shows its reader is run by a test as it stands there, or a table says why not. */
const PAGES = [
  './README.md',
  'docker/README.md',
  'docs/operate/README.md',
  ...readdirSync(join(root, 'docs/operate')).filter((page) => page !== 'README.md'),
]
const TESTS = globSync('{kernel,server,docker,packages,upstream,charts,cluster}/**/*.test.ts', {
  cwd: join(root, 'test'),
})
/** What a test that takes commands of pages replaces, and does in another way. */
const REPLACED = /^systemctl .*\b(?:orch-server|kubelet|(?:kube|node)-proxy)$/
const OF_THE_TEST =
  /^git clone|^npm ci|^kubectl -n \S+ rollout status|^kubectl -n kube-system logs|^debootstrap|^scp /
/** Pages whose services are no units of systemd in their tests. */
const WITHOUT_SYSTEMD = ['security.md', 'encryption.md', 'take-over.md', 'cluster.md']

const executions = executionsIn(
  TESTS.map((path) => ({ path, text: readFileSync(join(root, 'test', path), 'utf8') })),
)
const commands = PAGES.flatMap((page) => commandsOf(page))
const executed = commands.filter((one) => isExecuted(one, executions) && !isReplaced(one))
const texts = new Set(executed.map(({ text }) => text))
const listed = [...UNEXECUTED.values()].flat()

function isReplaced({ page, text, index }: PageCommand): boolean {
  if (index === undefined) return false
  return OF_THE_TEST.test(text) || (WITHOUT_SYSTEMD.includes(page) && REPLACED.test(text))
}

/** Alone, in a block of the same words on another page, or as the beginning of a command. */
function isTested(command: PageCommand): boolean {
  if (isReplaced(command)) return false
  return executed.includes(command) || texts.has(command.text) || isMention(command, executed)
}

test.each(PAGES)('a test runs every command of %s, or the table says why not', (page) => {
  const known = listed.flatMap((one) => (one.page === page ? one.commands : []))
  const left = commands.filter((one) => one.page === page && !isTested(one))
  expect(new Set(left.map(({ text }) => text))).toEqual(new Set(known))
})

test('blocks of commands are in the language sh, and their programs are known', () => {
  const others = PAGES.flatMap((page) =>
    [...pageText(page).matchAll(/^ *```(\w*)\n(?:.*?)^ *```$/gms)]
      .filter(([, language = '']) => ['', 'shell', 'bash', 'console'].includes(language))
      .map(([block]) => `${page}: ${block.split('\n')[1]}`),
  )
  expect(others).toEqual([])
  const inBlocks = commands.filter(({ index }) => index !== undefined)
  const programs = new Set(inBlocks.map(({ text }) => programOf(text)))
  expect([...programs].filter((one) => one !== '' && !PROGRAMS.includes(one))).toEqual([])
})

describe('the check', () => {
  const run = { page: 'dns.md', heading: 'Run it', index: 1, text: 'dig @127.0.0.1 name' }
  const said = { page: 'dns.md', heading: 'Answers', isCell: false, text: 'dig @127.0.0.1' }
  const isRunBy = (text: string, command: PageCommand = run): boolean =>
    isExecuted(command, executionsIn([{ path: 'a.test.ts', text }]))

  test.each([
    "blockOf('dns.md', 'Run it', 1)",
    "page: 'dns.md'\nfollow('Run it')",
    "page: 'dns.md'\nfollow(\n  'Run it',\n  1,\n)",
  ])('knows that a block is run: %s', (text) => {
    expect(isRunBy(text)).toBe(true)
  })

  test.each([
    "blockOf('dns.md', 'Run it', 0)",
    "blockOf('audit.md', 'Run it', 1)",
    "page: 'audit.md'\nfollow('Run it')",
    "page: 'dns.md'\nfollow('Other')",
    "page: 'dns.md'\ntest('Run it')",
    "spanOf('dns.md', 'dig @127.0.0.1 name')",
  ])('knows that it is not: %s', (text) => {
    expect(isRunBy(text)).toBe(false)
  })

  test('knows commands in sentences and tables', () => {
    expect(isRunBy("spanOf('dns.md', 'dig @127.0.0.1')", said)).toBe(true)
    expect(isRunBy("spanOf('dns.md', 'dig')", said)).toBe(false)
    expect(isRunBy("rowsOf('dns.md', 'Answers')", said)).toBe(false)
    expect(isRunBy("rowsOf('dns.md', 'Answers')", { ...said, isCell: true })).toBe(true)
    expect(isMention(said, [run])).toBe(true)
    expect(isMention({ ...said, text: 'dig @127' }, [run])).toBe(false)
    expect(isMention(run, [run])).toBe(false)
  })

  test('a quoted text, a function, a document and a backslash go on in the next line', () => {
    const block = [
      'run() {',
      '  docker run "$@"',
      '}',
      "jq '",
      "  .a' file   # why",
      'nft a \\',
      '  b',
      "apply <<'YAML'",
      'it: one',
      'YAML',
      '',
      '# all of it',
      'curl c',
    ]
    const text = ['', '```sh', ...block, '```', ''].join('\n')
    const found = commandsOfBlocks('dns.md', [{ heading: 'Run it', text }])
    expect(found.map((one) => one.text)).toEqual([
      'run() { docker run "$@" }',
      "jq ' .a' file",
      'nft a b',
      "apply <<'YAML' it: one YAML",
      'curl c',
    ])
  })

  test('a test of two pages names the page of each block', () => {
    const text = "page: 'dns.md'\npage: 'audit.md'\nfollow('Run it')"
    expect(() => isRunBy(text)).toThrow('a.test.ts runs blocks of dns.md and audit.md')
  })
})
