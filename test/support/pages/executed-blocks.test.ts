import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { blocksWithoutTest, otherBlocks } from './executed-blocks.ts'

const FOLDER = new URL('../../', import.meta.url)
const TESTS = globSync(['server/*.test.ts', 'kernel/{inspection,nftables}/*.test.ts'], {
  cwd: FOLDER,
}).map((name) => readFileSync(new URL(name, FOLDER), 'utf8'))

test.each(['security.md', 'encryption.md', 'nftables.md', 'troubleshooting.md'])(
  'a test runs every command of %s',
  (page) => {
    expect(blocksWithoutTest(page, TESTS)).toEqual([])
  },
)

/** Only root, and only a machine with systemd, can run them. */
test('commands that no test runs are few', () => {
  const pages = ['security.md', 'encryption.md', 'nftables.md', 'troubleshooting.md']
  expect(pages.flatMap((page) => otherBlocks(page))).toEqual([
    expect.stringMatching(/^journalctl /),
  ])
})

const SECTIONS = [
  { heading: 'One', text: 'It is:\n\n```sh\na\n```\n\n1. Then\n\n   ```sh\n   b\n   ```\n' },
  { heading: "Two's", text: '```sh\nc\n```\n' },
  { heading: 'None', text: '```yaml\nd: 1\n```\n\n```\ne\nf\n```\n' },
]

function without(test: string, page = 'security.md'): readonly string[] {
  return blocksWithoutTest(page, [`page: 'security.md'\n${test}`], SECTIONS)
}

test.each([
  ['follow("Two\'s")', ['One, block 0', 'One, block 1']],
  ["follow('One')", ["Two's, block 0"]],
  ["page.follow(\n  'One',\n  1,\n)", ['One, block 0', "Two's, block 0"]],
  ["follow('One', 0); follow('One', 1)", ["Two's, block 0"]],
  ["prepare: 'One',", ["Two's, block 0"]],
  ["test('One')", ['One, block 0', 'One, block 1', "Two's, block 0"]],
])('%s leaves other blocks', (test, left) => {
  expect(without(test)).toEqual(left)
})

test('a test of another page runs nothing of this one', () => {
  expect(without("follow('One')", 'encryption.md')).toHaveLength(3)
})

test('blocks without a language are run by no test', () => {
  expect(otherBlocks('security.md', SECTIONS)).toEqual(['e'])
})
