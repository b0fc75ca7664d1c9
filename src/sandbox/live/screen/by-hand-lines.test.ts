import { expect, test } from 'vitest'
import { unlabelOf } from '../../environment/by-hand.ts'
import { wrapCommand } from './by-hand-lines.ts'

const command = unlabelOf('pod-3', {
  socket: '/tmp/np-sandbox-7-Xa1/orch-server/server.sock',
  authorization: '/tmp/np-sandbox-7-Xa1/administrator',
  adminKubeconfig: '/tmp/np-sandbox-7-Xa1/admin.kubeconfig',
})

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

test('a pod is taken out by a merge patch of its labels', () => {
  expect(command).toBe(
    'curl -s --unix-socket /tmp/np-sandbox-7-Xa1/orch-server/server.sock ' +
      '-H @/tmp/np-sandbox-7-Xa1/administrator -X PATCH ' +
      "-H 'Content-Type: application/merge-patch+json' " +
      "http://localhost/api/v1/namespaces/default/pods/pod-3 -d '" +
      '{"metadata":{"labels":{"public":null}}}' +
      "'",
  )
})
