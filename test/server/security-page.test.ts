import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { installedKubectls } from '../support/kubectl/installed.ts'
import { byCertificate, byToken, type Proof } from '../support/pages/operated-page.ts'
import { openSecurityPage, type SecurityPage } from '../support/pages/security-page.ts'

/** What is taken over without a restart is read every ten seconds. */
const WAITING = { timeout: 90_000, interval: 100 }
/** For what starts programs. */
const SELDOM = { ...WAITING, interval: 1_000 }

/** Of a kubeconfig with a certificate, which the page extracts. */
const PROMETHEUS = byCertificate('prometheus.crt', 'prometheus.key')

let page: SecurityPage

beforeAll(async () => {
  page = await openSecurityPage()
})

afterAll(() => page?.[Symbol.asyncDispose]())

async function expectStatus(proof: Proof, status: number): Promise<void> {
  await vi.waitFor(async () => expect(await page.status(proof)).toBe(status), WAITING)
}

async function tokenOf(account: string): Promise<string> {
  return (await page.sh(`kubectl create token ${account} --namespace shop`)).trim()
}

function keyOf(token: string): string {
  return decodeProtectedHeader(token).kid!
}

/** Each test is a section of the page, and each begins with what the sections before it left. */
describe.runIf(installedKubectls().length > 0)('the commands of docs/operate/security.md', () => {
  test('a person gets access to a namespace by a certificate, and by the provider', async () => {
    expect(await page.follow('Give a person access')).toMatch(/^yes$/m)
    const ann = 'kubectl --kubeconfig ann.kubeconfig'
    await page.sh(`${ann} create configmap mine --namespace shop`)
    await expect(page.sh(`${ann} get configmaps --namespace default`)).rejects.toThrow('Forbidden')
    const idToken = await page.provider.idToken({ email: 'eve@example.com', groups: ['dev'] })
    const eve = `kubectl --kubeconfig /dev/null --server https://127.0.0.1:6443 --insecure-skip-tls-verify --token ${idToken}`
    expect(await page.sh(`${eve} get configmaps --namespace shop -o name`)).toContain('mine')
    await expect(page.sh(`${eve} get nodes`)).rejects.toThrow('oidc:eve@example.com')
  })

  test('a program gets an account, and Prometheus the metrics', async () => {
    await page.follow('Give a program an account')
    const builder = 'kubectl --kubeconfig builder.kubeconfig --namespace shop'
    expect(await page.sh(`${builder} get configmaps -o name`)).toContain('mine')
    await expect(page.sh(`${builder} get secrets`)).rejects.toThrow('shop:builder')
    const prometheus = 'kubectl --kubeconfig prometheus.kubeconfig'
    expect(await page.sh(`${prometheus} get --raw /metrics`)).toContain('apiserver_')
    expect(await page.status(PROMETHEUS)).toBe(200)
  })

  test('node-proxy reads what it follows, and no Secret', async () => {
    await page.follow('Run node-proxy with its account')
    const proxy = 'kubectl --kubeconfig node-proxy.kubeconfig'
    expect(await page.sh(`${proxy} get services,endpointslices -A -o name`)).toContain('service/')
    await expect(page.sh(`${proxy} get secrets -A`)).rejects.toThrow('kube-system:node-proxy')
  })

  test('others read the keys of tokens without credentials', async () => {
    const said = await page.follow('Let others verify tokens')
    const [issuer, kid] = said.trim().split('\n')
    expect(keyOf(await tokenOf('builder'))).toBe(kid)
    expect(decodeJwt(await tokenOf('builder')).iss).toBe(issuer)
    expect(issuer).toBe('https://orch.example.com:6443')
    const keys = await page.sh('curl -sk https://127.0.0.1:6443/openid/v1/jwks')
    expect(keys).toContain(kid)
    expect(await page.status({})).toBe(401)
  })

  test('who loses a binding or an account is refused', async () => {
    const token = byToken(await tokenOf('builder'))
    expect(await page.status(token)).toBe(200)
    const named = await page.follow('Take access away')
    expect(named).toMatch(/^RoleBinding shop oidc-dev$/m)
    await expectStatus(token, 401)
    const ann = page.sh('kubectl --kubeconfig ann.kubeconfig get configmaps --namespace shop')
    await expect(ann).rejects.toThrow('Forbidden')
    await page.sh('kubectl create serviceaccount builder --namespace shop')
    expect(await page.status(byToken(await tokenOf('builder')))).toBe(200)
    expect(await page.status(token)).toBe(401)
  })

  test('a new serving certificate is accepted by old kubeconfigs', async () => {
    const old = await page.sh(
      'cp $KUBECONFIG old.kubeconfig; openssl x509 -noout -serial -in pki/server.crt',
    )
    expect(await page.follow('Replace the serving certificate')).not.toContain(old.trim())
    await page.sh('kubectl --kubeconfig old.kubeconfig get namespaces')
  })

  test('the old certificate of the administrator is accepted beside the new one', async () => {
    const whoami = await page.follow("Replace the administrator's certificate")
    expect(whoami).toContain('orch-admin')
    const data = 'config view --raw -o jsonpath={.users[0].user.client-certificate-data}'
    const [old, now] = [
      await page.sh(`kubectl --kubeconfig old.kubeconfig ${data}`),
      await page.sh(`kubectl ${data}`),
    ]
    expect(now).not.toBe(old)
    await page.sh('kubectl --kubeconfig old.kubeconfig get namespaces')
  })

  test('a new authority ends every client certificate, and no account token', async () => {
    const token = byToken(await tokenOf('builder'))
    expect(await page.status(PROMETHEUS)).toBe(200)
    expect(await page.follow('Replace the authority')).toContain('orch-admin')
    expect(await page.status(PROMETHEUS)).toBe(401)
    expect(await page.status(token)).toBe(200)
    await expect(page.sh('kubectl --kubeconfig old.kubeconfig get namespaces')).rejects.toThrow(
      'certificate signed by unknown authority',
    )
  })

  test('a new key signs tokens, and those of the old one are refused once it is removed', async () => {
    const manifest = `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token,
      metadata: {name: kept, namespace: shop, annotations: {kubernetes.io/service-account.name: builder}}}`
    await page.sh(`kubectl apply -f - <<< '${manifest}'`)
    const old = await tokenOf('builder')
    await page.follow('Replace the key of account tokens', 0)
    await vi.waitFor(
      async () => expect(keyOf(await tokenOf('builder'))).not.toBe(keyOf(old)),
      SELDOM,
    )
    const fresh = await tokenOf('builder')
    expect(await page.status(byToken(old))).toBe(200)
    expect((await page.follow('Replace the key of account tokens', 1)).trim()).toBe(
      `shop\tkept\t${keyOf(old)}`,
    )
    await page.follow('Replace the key of account tokens', 2)
    await expectStatus(byToken(old), 401)
    expect(await page.status(byToken(fresh))).toBe(200)
  })

  test('Secrets are read by the new encryption key alone', async () => {
    await page.sh(
      'kubectl create secret generic password --namespace shop --from-literal=word=open',
    )
    const already = page.log().length
    await page.follow('Replace the key of Secrets', 0)
    await vi.waitFor(
      () =>
        expect(page.log().slice(already)).toContain('all Secrets are encrypted with the first key'),
      WAITING,
    )
    await page.follow('Replace the key of Secrets', 1)
    expect(await page.sh('grep -c . pki/encryption.keys')).toBe('1\n')
    const word = 'kubectl get secret password --namespace shop -o jsonpath={.data.word}'
    expect(await page.sh(word)).toBe(Buffer.from('open').toString('base64'))
  })

  test('a replaced line of the token file ends the old token', async () => {
    const [old, next] = ['a-token-of-yesterday', 'a-new-token-of-at-least-32-random-bytes'].map(
      byToken,
    )
    expect(await page.status(old!)).toBe(200)
    await page.follow('The users of the token file')
    await expectStatus(next!, 200)
    expect(await page.status(old!)).toBe(401)
  })

  test('the log and the audit log say why a request was refused', async () => {
    await expect(page.sh('kubectl get nodes --as ann')).rejects.toThrow('Forbidden')
    await vi.waitFor(
      async () => expect(await page.follow('A request is refused', 2)).toContain('/api/v1/nodes'),
      WAITING,
    )
    expect(await page.follow('A request is refused', 1)).toMatch(/^no$/m)
    expect(page.log()).toContain('credentials were rejected')
  })

  test('without its binding the administrator goes on, and a restart repairs it', async () => {
    const said = await page.follow('Locked out')
    expect(said).toMatch(/^yes$/m)
    expect(said).toContain('ClusterRole/cluster-admin')
  })
})
