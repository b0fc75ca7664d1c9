import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Finding } from '../../../src/doctor/evidence/finding.ts'
import {
  type DaemonCredentials,
  daemonCredentials,
} from '../../support/doctor/daemon-credentials.ts'
import { nodeFindings } from '../../support/doctor/node-findings.ts'
import { orchctlDoctor, orchctlFindings } from '../../support/doctor/orchctl-findings.ts'
import { sumOf } from '../../support/lab/metrics.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** Credentials of node-proxy that really end, or are for something else, with a real server that verifies them. */
const lab = useLab({ api: 'orch-server' })
let credentials: DaemonCredentials
beforeAll(async () => {
  credentials = await daemonCredentials(lab())
})

/** Restarts node-proxy with another credential. */
async function restart(credential: Parameters<DaemonCredentials['kubeconfig']>[0]): Promise<void> {
  await lab().daemon.stop()
  await lab().daemon.start({ flags: [`--kubeconfig=${credentials.kubeconfig(credential)}`] })
}

const POLL = { interval: 200 }

/** Why it is not ready, by its own words. */
async function reasons(): Promise<string> {
  return (await lab().daemon.http(10_249, '/readyz')).body
}

async function checks(): Promise<readonly string[]> {
  return (await nodeFindings(lab())).map(({ check }) => check)
}

/** Looks again until the first finding has this cause. */
async function expectFirst(check: string, cause: RegExp): Promise<Finding | undefined> {
  let first: Finding | undefined
  await expect
    .poll(async () => ([first] = await nodeFindings(lab()))[0], POLL)
    .toMatchObject({ check, cause: expect.stringMatching(cause) })
  return first
}

test('a client certificate and a token that are about to end, and that end while node-proxy runs', async () => {
  const causes = async () => (await nodeFindings(lab())).map(({ cause }) => cause).toSorted()
  for (const [life, end] of [
    [600_000, /^the (\w+) of node-proxy expires in \d+ \w+: /],
    [40_000, /^the \w+ of .* expired \d+ s ago: /],
  ] as const) {
    const token = await credentials.token(life)
    await restart({ ...(await credentials.certificate(life)), token })
    await lab().daemon.synced()
    await expect
      .poll(causes, POLL)
      .toEqual([expect.stringMatching(end), expect.stringMatching(end)])
  }
})

describe('a token in the kubeconfig that is due', () => {
  const due = async () => credentials.kubeconfig({ token: await credentials.token(300_000) })

  async function restartWith(kubeconfig: string): Promise<void> {
    await lab().daemon.stop()
    await lab().daemon.start({ flags: [`--kubeconfig=${kubeconfig}`] })
  }

  test('is reported, with the missing right, by /readyz, the log, a metric and the doctor', async () => {
    await restartWith(await due())
    await expect
      .poll(reasons, POLL)
      .toMatch(
        /^\{"ready":true.*the token of kubeconfig .* expires at 2.*: it cannot be renewed: 403 Forbidden: .*; grant create of serviceaccounts\/token for kube-system\/node-proxy \(RBAC\)/s,
      )
    expect(await checks()).toEqual(['expired-credential'])
    const late = sumOf(
      await lab().daemon.metrics(),
      'nodeproxy_client_credential_late_timestamp_seconds',
    )
    expect(late * 1_000).toBeLessThan(Date.now())
    expect(lab().daemon.logs()).toContain('it cannot be renewed: 403 Forbidden')
    expect(lab().daemon.logs()).not.toMatch(/eyJ[\w-]+\./)
  })

  test('is renewed where the account may do that, and the next start begins with the new one', async () => {
    await credentials.permitRenewal()
    const kubeconfig = await due()
    const before = readFileSync(kubeconfig, 'utf8')
    await restartWith(kubeconfig)
    await expect.poll(() => readFileSync(kubeconfig, 'utf8'), POLL).not.toBe(before)
    await lab().daemon.synced()
    await expect.poll(checks, POLL).toEqual([])
    expect(await reasons()).not.toContain('expires')
    const renewed = readFileSync(kubeconfig, 'utf8')
    await restartWith(kubeconfig)
    await lab().daemon.synced()
    expect([await checks(), readFileSync(kubeconfig, 'utf8')]).toEqual([[], renewed])
  })
})

test('a file with an expired token, and with a new one', async () => {
  const tokenFile = join(lab().folder, 'token')
  writeFileSync(tokenFile, await credentials.token(-60_000))
  await restart({ tokenFile })
  await expect.poll(reasons, POLL).toMatch(/401 Unauthorized/)
  expect(await checks()).toEqual(['expired-credential'])
  writeFileSync(tokenFile, await credentials.requestedToken([]))
  await lab().daemon.synced()
  await expect.poll(checks, POLL).toEqual([])
})

test('a token for another audience: the node says 401, and orchctl why', async () => {
  const token = await credentials.requestedToken(['vault'])
  await restart({ token })
  const first = await expectFirst('not-ready', /^node-proxy is not ready: .* is open: 401 Unauth/)
  expect(first?.commands).toContain('orchctl doctor --token-file FILE')
  const file = join(lab().folder, 'vault-token')
  writeFileSync(file, token)
  const [why] = await orchctlFindings(lab(), `--token-file=${file}`)
  expect(why).toMatchObject({
    check: 'token-audience',
    object: 'serviceaccount/kube-system/node-proxy',
    cause: 'the token is for "vault", and not for the API server',
  })
})

test.each([
  ['a token', () => credentials.token(-60_000), 'token-expired', /^the token expired at 2/],
  [
    'a client certificate',
    () => credentials.certificate(-5_000),
    'own-credential',
    /^the client certificate expired at 2/,
  ],
  [
    'a token for another audience',
    () => credentials.requestedToken(['vault']),
    'token-rejected',
    /rejects the token/,
  ],
] as const)('orchctl doctor of a user with %s that is over', async (_, make, check, cause) => {
  const made = await make()
  const credential = typeof made === 'string' ? { token: made } : made
  const kubeconfig = `--kubeconfig=${credentials.kubeconfig(credential)}`
  const { code, stdout, stderr } = await orchctlDoctor(lab(), kubeconfig)
  expect([code, stderr]).toEqual([1, ''])
  expect(JSON.parse(stdout)).toMatchObject([{ check, cause: expect.stringMatching(cause) }])
  expect(stdout).not.toMatch(/eyJ[\w-]+\./)
})
