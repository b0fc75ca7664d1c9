import { expect, test } from 'vitest'
import { scaleOf } from '../by-hand.ts'
import { wrapCommand } from './by-hand-lines.ts'

const command = scaleOf('np-sandbox-7', 'web', 'http://192.0.2.1:6443')

test.each([60, 80, 100])('a wrapped command is the same command at %i columns', (width) => {
  const lines = wrapCommand(command, width)
  expect(lines.length).toBeGreaterThan(1)
  const joined = lines.join('\n').replaceAll(/ \\\n +/g, ' ')
  expect(joined.trim()).toBe(command)
})

test('it fits wherever its longest word does', () => {
  for (let width = 75; width < 260; width++) {
    const longest = Math.max(...wrapCommand(command, width).map((line) => line.length))
    expect(longest).toBeLessThanOrEqual(width)
  }
  expect(wrapCommand('ip netns list', 80)).toEqual(['  ip netns list'])
})

test('scaling is a merge patch of an annotation', () => {
  expect(command).toBe(
    "ip netns exec np-sandbox-7-control curl -s -X PATCH -H 'Content-Type: application/merge-patch+json' " +
      "http://192.0.2.1:6443/api/v1/namespaces/default/services/web -d '" +
      '{"metadata":{"annotations":{"sandbox.orch.io/replicas":"1"}}}' +
      "'",
  )
})
