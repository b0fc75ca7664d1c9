import { expect, test } from 'vitest'
import type { Sandbox } from '../environment/sandbox.ts'
import { runTour } from './run-tour.ts'
import type { Step } from './steps.ts'

const ANSWER_MS = 5

/** Of a sandbox, what the tour uses where each request is refused. */
const SANDBOX = {
  run: { name: 'np-sandbox-7', folder: '/tmp/np-sandbox-7-Xa1' },
  options: { mode: 'nftables' },
  hasNftables: true,
  cluster: { controlPlane: { adminKubeconfig: 'admin.kubeconfig' }, pods: { state: () => ({}) } },
  daemon: { lastLines: () => ['info synced'] },
  send: () =>
    new Promise((resolve) => {
      setTimeout(() => resolve({ kind: 'refused', ms: ANSWER_MS }), ANSWER_MS)
    }),
} as unknown as Sandbox

test('an action that fails while requests go on makes its step wrong, and the tour goes on', async () => {
  const steps: readonly Step[] = [
    {
      title: 'It rolls out',
      action: {
        description: 'change its template; meanwhile:',
        meanwhile: true,
        run: () => Promise.reject(new Error('not yet: the Deployment has rolled out')),
      },
      request: { from: 'client', service: 'catalog', url: 'http://192.0.2.10:30086/' },
      times: 3,
      expected: { kind: 'refused' },
    },
    {
      title: 'Afterwards',
      request: { from: 'client', service: 'catalog', url: 'http://192.0.2.10:30086/' },
      times: 2,
      expected: { kind: 'refused' },
    },
  ]
  const lines: string[] = []
  const wrong = await runTour(SANDBOX, {
    steps,
    print: (text) => void lines.push(text),
    signal: new AbortController().signal,
  })
  expect(wrong).toBe(1)
  expect(lines[0]).toContain('WRONG: not yet: the Deployment has rolled out')
  expect(lines[1]).toContain('    2 refused\n    ok')
})
