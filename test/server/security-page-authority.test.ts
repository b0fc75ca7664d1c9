import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { installedKubectls } from '../support/kubectl/installed.ts'
import { byToken, type OperatedPage, operatePage } from '../support/pages/operated-page.ts'

/** For what starts programs. */
const SELDOM = { timeout: 90_000, interval: 1_000 }

let page: OperatedPage

beforeAll(async () => {
  page = await operatePage({ page: 'security.md' })
})

afterAll(() => page?.[Symbol.asyncDispose]())

/** A user of a certificate who reads something that everyone may read. */
function isServed(kubeconfig: string): Promise<string> {
  return page.sh(`kubectl --kubeconfig ${kubeconfig} auth whoami`)
}

async function kubeconfigOf(user: string): Promise<void> {
  await page.sh(
    `orch-server kubeconfig --config=$CONFIG --user ${user} --output ${user}.kubeconfig`,
  )
}

/** The authorities that Pods of a namespace trust. */
async function trustedByPods(): Promise<number> {
  const maps = 'kubectl get configmap kube-root-ca.crt --namespace default'
  const text = await page.sh(`${maps} -o jsonpath='{.data.ca\\.crt}'`)
  return text.split('BEGIN CERTIFICATE').length - 1
}

/** Each test is a step, and begins with what the steps before it left. */
describe.runIf(installedKubectls().length > 0)('the authority is replaced in steps', () => {
  test('1: the next one is trusted beside the old one, which still issues', async () => {
    for (const user of ['prometheus', 'late']) await kubeconfigOf(user)
    await page.sh('openssl x509 -noout -issuer -in pki/server.crt > issuer')
    await page.follow('Replace the authority and keep clients connected', 0)
    expect(await page.sh('openssl x509 -noout -issuer -in pki/server.crt | diff - issuer')).toBe('')
    for (const user of ['prometheus', 'late'])
      expect(await isServed(`${user}.kubeconfig`)).toContain(user)
    await vi.waitFor(async () => expect(await trustedByPods()).toBe(2), SELDOM)
    await kubeconfigOf('ann')
  })

  test('2 and 3: who trusts both goes on when the next one issues', async () => {
    await page.sh('kubectl create serviceaccount builder')
    const token = (await page.sh('kubectl create token builder')).trim()
    await page.follow('Replace the authority and keep clients connected', 1)
    expect(await page.follow('Replace the authority and keep clients connected', 2)).toContain(
      'orch-admin',
    )
    await page.sh('! openssl x509 -noout -issuer -in pki/server.crt | diff - issuer > changed')
    for (const user of ['prometheus', 'ann'])
      expect(await isServed(`${user}.kubeconfig`)).toContain(user)
    await expect(isServed('late.kubeconfig')).rejects.toThrow('unknown authority')
    expect(await page.status(byToken(token))).toBe(200)
    await kubeconfigOf('bob')
    expect(await trustedByPods()).toBe(2)
  })

  test('4: the old one is refused, and who has a certificate of the next one goes on', async () => {
    await page.follow('Replace the authority and keep clients connected', 3)
    for (const user of ['prometheus', 'ann']) {
      await expect(isServed(`${user}.kubeconfig`)).rejects.toThrow('Unauthorized')
    }
    expect(await isServed('bob.kubeconfig')).toContain('bob')
    await vi.waitFor(async () => expect(await trustedByPods()).toBe(1), SELDOM)
    expect(await page.sh('grep -c BEGIN pki/ca.crt')).toBe('1\n')
  })
})
