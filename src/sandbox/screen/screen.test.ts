import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { absentPod } from '../cluster/cluster-state.ts'
import { REQUESTS } from '../environment/request.ts'
import { renderScreen } from './screen.ts'
import type { SentRequest, View } from './view.ts'

const sent = (second: number, reply: SentRequest['reply']): SentRequest => ({
  at: Date.UTC(2026, 0, 1, 12, 0, second),
  request: REQUESTS.clientToPublic,
  reply,
})

const view: View = {
  mode: 'iptables',
  runName: 'np-sandbox-7',
  api: {
    socket: '/tmp/np-sandbox-7-Xa1/orch-server/server.sock',
    authorization: '/tmp/np-sandbox-7-Xa1/administrator',
    adminKubeconfig: '/tmp/np-sandbox-7-Xa1/admin.kubeconfig',
  },
  terminal: 'in another terminal',
  explain: 'bin/node-proxy explain 192.0.2.20 192.0.2.10:30080',
  show: 'iptables -t nat -S',
  flush: 'iptables -t nat -F',
  upMs: 61_000,
  services: [
    { name: 'web-public', kind: 'NodePort', addresses: ['10.96.0.20:80', 'node:30080'] },
    { name: 'empty', kind: 'ClusterIP', addresses: ['10.96.0.70:80'] },
  ],
  backends: [{ service: 'web-public', ready: ['pod-1'], notReady: ['pod-2'] }],
  pods: [
    { ...absentPod('pod-1'), ip: '10.244.0.2', ready: true, pid: 41 },
    { ...absentPod('pod-2'), ip: '10.244.0.3' },
  ],
  sent: [
    sent(1, {
      kind: 'answered',
      ms: 2,
      pod: 'pod-1',
      saw: '10.244.0.1',
      lost: 0,
      metTimeWait: 0,
      address: '10.96.0.10',
    }),
    sent(2, { kind: 'refused', ms: 1 }),
  ],
  answersByPod: new Map([['pod-1', 40]]),
  outcomes: new Map([
    ['answered', 40],
    ['refused', 3],
  ]),
  daemonPid: 99,
  daemonLog: ['info synced'],
  notice: 'scaled to 2',
}

const SIZE = { columns: 160, rows: 40 }
const plain = (shown: View, size = SIZE): readonly string[] =>
  renderScreen(shown, size).map(stripVTControlCharacters)
const lineWith = (shown: View, word: string): string =>
  plain(shown).find((line) => line.includes(word)) ?? ''

test('shows Services with their backends, and which have none', () => {
  expect(lineWith(view, 'node:30080')).toMatch(
    /^web-public +pod-1 pod-2 +10\.96\.0\.20:80 .*NodePort$/,
  )
  expect(lineWith(view, '10.96.0.70')).toMatch(/^empty +none +10/)
})

test('shows which pod answered, whom it saw, and how many it did', () => {
  expect(lineWith(view, '12:00:01')).toMatch(
    /client +→ web-public +pod-1 saw 10\.244\.0\.1 +2 ms +http/,
  )
  expect(lineWith(view, '12:00:02')).toMatch(/refused +1 ms/)
  expect(lineWith(view, '10.244.0.2')).toMatch(/41 +ready +█+ 40$/)
  expect(lineWith(view, '10.244.0.3')).toMatch(/- +dead +0$/)
})

test('shows the daemon, and that it is gone', () => {
  expect(plain(view)[0]).toContain(
    'node-proxy 99 in iptables mode  up 1:01  40 answered, 3 refused',
  )
  expect(plain({ ...view, daemonPid: undefined })[0]).toContain('node-proxy is not running')
})

test('offers commands to type, keys, and what was done', () => {
  const text = plain(view).join('\n')
  expect(text).toContain('ip netns exec np-sandbox-7-client curl -s http://192.0.2.10:30080/')
  expect(text).toContain('-X PATCH')
  expect(text).toContain('kill -9 41')
  expect(plain(view).at(-1)).toMatch(/\+ - scale .*1 2 3 kill .*q quit +scaled to 2$/)
})

test.each([
  [160, 40],
  [80, 24],
  [20, 5],
])('fits %i columns and %i rows', (columns, rows) => {
  const many = Array.from({ length: 100 }, (_, i) => sent(i % 60, { kind: 'silent', ms: 1500 }))
  const lines = plain({ ...view, sent: many }, { columns, rows })
  expect(lines.length).toBeLessThanOrEqual(rows)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns)
})

test('fills the rows that are left with requests', () => {
  const many = Array.from({ length: 100 }, (_, i) => sent(i % 60, { kind: 'silent', ms: 1500 }))
  expect(plain({ ...view, sent: many })).toHaveLength(SIZE.rows)
})
