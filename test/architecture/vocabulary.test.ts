import { expect, test } from 'vitest'
import { projectTexts } from './project-texts.ts'
import { splitWords } from './split-words.ts'
import { type WordHit, wordHits } from './vocabulary.ts'

test('the project uses the words of the field', () => {
  const hits = projectTexts('.').flatMap(wordHits)
  const show = ({ path, line, found, use }: WordHit) => `${path}:${line}: ${found} → ${use}`
  expect(hits.map(show)).toEqual([])
})

const private_: readonly (readonly [path: string, text: string, found: string])[] = [
  ['src/lib/a.ts', 'const tellReader = 1', 'tell'],
  ['src/lib/a.ts', 'function openDoor() {}', 'door'],
  ['src/lib/a.ts', 'interface RoomOf {}', 'room'],
  ['src/lib/a.ts', 'const HTTPDoors = []', 'doors'],
  ['src/lib/a.ts', 'const MOST_ENTRIES = 3', 'MOST_ENTRIES'],
  ['src/lib/a.ts', 'const ATTEMPTS = 3', 'ATTEMPTS'],
  ['src/lib/a.ts', '// after the time-out', 'time-out'],
  ['src/lib/a.ts', 'export type Outcome = string', 'type Outcome'],
  ['src/lib/a.ts', 'const ground = 1', 'ground'],
  ['src/lib/a.ts', '// the iptables back end', 'back end'],
  ['src/lib/a.ts', 'const takesShortcut = 1', 'shortcut'],
  ['src/lib/entrance.ts', '', 'entrance'],
  ['src/lib/hands.ts', '', 'hands'],
  ['docs/a.md', 'A room has a README.', 'room'],
  ['config/a.yaml', '# the doors of the kernel', 'doors'],
]

test.each(private_)('%s: %s is found', (path, text, found) => {
  expect(wordHits({ path, text }).map((hit) => hit.found)).toEqual([found])
})

test.each([
  ['src/lib/a.ts', '// The kernel has no ground for it, which does not matter.'],
  ['src/lib/a.ts', "throw new NodeProxyError('NP_STORE_TROUBLE', '')"],
  ['src/lib/a.ts', 'const MAX_ATTEMPTS = 3'],
  ['src/lib/a.ts', 'const interfaces = surface + background + headroom'],
  ['src/modes/ipvs/a.ts', "const set = name(4, 'SHORTCUT') // NPVS-4-SHORTCUT"],
  ['src/lib/a.ts', '// Nobody asks the kernel: it tells what the trouble is.'],
  ['docs/a.md', '`--patrol` and `nodeproxy_seats_total` keep their names.'],
] as const)('%s: %s is allowed', (path, text) => {
  expect(wordHits({ path, text })).toEqual([])
})

test('a hit says its line', () => {
  expect(wordHits({ path: 'src/lib/a.ts', text: '/*\n doors */\n' })).toEqual([
    expect.objectContaining({ line: 2, found: 'doors' }),
  ])
})

test('identifiers are split into their words', () => {
  expect(splitWords('HTTPDoorOf a-knock SOME_NAME2x')).toEqual([
    'http',
    'door',
    'of',
    'a',
    'knock',
    'some',
    'name',
    'x',
  ])
})
