import 'reflect-metadata'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Extension,
  type JsonGeneralName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509'
import { afterAll, expect, test } from 'vitest'
import { KUBELET_SIGNERS } from '../../controllers/certificates-controller.ts'
import type { SigningRequest } from '../../controllers/objects/plain-objects.ts'
import { createRequestAuthority, type RequestAuthorityOptions } from './request-authority.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const ECDSA = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: new Uint8Array([1, 0, 1]),
}
const AGENT = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] }
const BOOTSTRAPPER = { name: 'new', groups: ['system:bootstrappers', 'system:authenticated'] }
const SUBJECT = 'O=system:nodes, CN=system:node:n1'
const CLIENT = ['digital signature', 'client auth']
const SERVING = ['digital signature', 'server auth']

interface Parts {
  readonly subject?: string
  readonly names?: readonly JsonGeneralName[]
  readonly algorithm?: typeof ECDSA | typeof RSA
  /** Changes the text of the request after it was signed. */
  readonly change?: (pem: string) => string
}

async function pemOf({
  subject = SUBJECT,
  names = [],
  algorithm = ECDSA,
  change = (pem) => pem,
}: Parts) {
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const extensions: Extension[] =
    names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...names])]
  const csr = await Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys,
    signingAlgorithm: algorithm,
    extensions,
  })
  return Buffer.from(change(csr.toString('pem'))).toString('base64')
}

const clientRequest = async (
  parts: Parts = {},
  more: Partial<SigningRequest> = {},
): Promise<SigningRequest> => ({
  request: await pemOf(parts),
  signerName: KUBELET_SIGNERS.client,
  usages: CLIENT,
  expirationSeconds: undefined,
  user: BOOTSTRAPPER,
  ...more,
})

const servingRequest = (
  names: readonly JsonGeneralName[],
  more: Partial<SigningRequest> = {},
  parts: Parts = {},
) =>
  clientRequest(
    { names, ...parts },
    { signerName: KUBELET_SIGNERS.serving, usages: SERVING, user: AGENT, ...more },
  )

const ip = (value: string): JsonGeneralName => ({ type: 'ip', value })
const dns = (value: string): JsonGeneralName => ({ type: 'dns', value })

/** Bootstrappers may request any node, and nodes themselves. */
const folder = mkdtempSync(join(tmpdir(), 'np-orch-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const options: RequestAuthorityOptions = {
  folder,
  maxLife: 365 * DAY,
  clock: { now: () => NOW },
  reserved: { dns: ['localhost', 'kubernetes.default'], ips: ['192.0.2.1'] },
  permits: async ({ groups }, permission) =>
    groups.includes(permission === 'nodeclient' ? 'system:bootstrappers' : 'system:nodes'),
}
const authority = createRequestAuthority(options)

test.each<[string, Parts, Partial<SigningRequest>]>([
  ['a bootstrapper any node', {}, {}],
  ['a bootstrapper with RSA', { algorithm: RSA }, { usages: ['key encipherment', ...CLIENT] }],
  ['a node itself', {}, { user: AGENT }],
])('a client certificate is approved that requests %s', async (_, parts, more) => {
  expect(await authority.approve(await clientRequest(parts, more), [])).toMatch(/^Auto approving/)
})

test.each<[string, Parts, Partial<SigningRequest>]>([
  ['a user without a role', {}, { user: { name: 'ann', groups: ['system:authenticated'] } }],
  ['a node another one', { subject: 'O=system:nodes, CN=system:node:n2' }, { user: AGENT }],
  ['no node', { subject: 'O=system:nodes, CN=admin' }, {}],
  ['the empty node', { subject: 'O=system:nodes, CN=system:node:' }, {}],
  ['two nodes', { subject: 'O=system:nodes, CN=system:node:n1, CN=system:node:n2' }, {}],
  ['masters', { subject: 'O=system:masters, CN=system:node:n1' }, {}],
  ['masters, too', { subject: 'O=system:nodes, O=system:masters, CN=system:node:n1' }, {}],
  ['no group', { subject: 'CN=system:node:n1' }, {}],
  ['names', { names: [dns('n1')] }, {}],
  ['a serving certificate, too', {}, { usages: [...CLIENT, 'server auth'] }],
  ['no client certificate', {}, { usages: ['digital signature'] }],
  ['nothing that can be read', { change: (pem) => pem.replace(/.{20}/, 'x') }, {}],
  ['a request of another key', { change: withOtherBits }, {}],
  ['a signer that is another', {}, { signerName: 'kubernetes.io/kube-apiserver-client' }],
])('a client certificate is not approved that requests: %s', async (_, parts, more) => {
  expect(await authority.approve(await clientRequest(parts, more), [])).toBeUndefined()
})

/** The same request with another name of its node, so that its signature does not hold. */
function withOtherBits(pem: string): string {
  const der = Buffer.from(pem.replace(/-----[^-]+-----/g, ''), 'base64')
  der[der.indexOf('system:node:n1') + 'system:node:n'.length] = '2'.charCodeAt(0)
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`
}

const OWN = ['192.0.2.7', 'fd00::7']

test.each<[string, readonly JsonGeneralName[]]>([
  ['its address', [ip('192.0.2.7')]],
  ['its name and addresses', [dns('n1'), ip('192.0.2.7'), ip('fd00:0::7')]],
])('a serving certificate is approved for %s', async (_, names) => {
  expect(await authority.approve(await servingRequest(names), OWN)).toMatch(/^Auto approving/)
})

test.each<[string, readonly JsonGeneralName[], Partial<SigningRequest>]>([
  ['no name', [], {}],
  ['an address of another', [ip('192.0.2.8')], {}],
  ['an address of the server', [ip('192.0.2.1')], {}],
  ['a name of another', [dns('n2'), ip('192.0.2.7')], {}],
  ['a name of the server', [dns('kubernetes.default')], {}],
  ['a wildcard', [dns('*'), ip('192.0.2.7')], {}],
  ['a mail address', [{ type: 'email', value: 'a@b.c' }, ip('192.0.2.7')], {}],
  ['a URL', [{ type: 'url', value: 'spiffe://a/b' }, ip('192.0.2.7')], {}],
  ['another user', [ip('192.0.2.7')], { user: { ...AGENT, name: 'system:node:n2' } }],
  ['who only has the name of a node', [ip('192.0.2.7')], { user: { ...AGENT, groups: [] } }],
  ['clients, too', [ip('192.0.2.7')], { usages: [...SERVING, 'client auth'] }],
])('a serving certificate is not approved for %s', async (_, names, more) => {
  const addresses = [...OWN, '192.0.2.1']
  expect(await authority.approve(await servingRequest(names, more), addresses)).toBeUndefined()
})

async function signed(request: SigningRequest, by = authority): Promise<X509Certificate> {
  const result = await by.sign(request)
  if ('problem' in result) throw new Error(result.problem)
  return new X509Certificate(result.certificate)
}

test.each([ECDSA, RSA])('a client certificate for a key of %j', async (algorithm) => {
  const certificate = await signed(await clientRequest({ algorithm }))
  expect(certificate.subject).toBe('CN=system:node:n1\nO=system:nodes')
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2'])
  expect(certificate.subjectAltName).toBeUndefined()
  expect(certificate.ca).toBe(false)
  expect(certificate.validToDate.getTime()).toBe(NOW + 365 * DAY)
})

test('a serving certificate names what was requested, for as long as was requested', async () => {
  const names = [dns('n1'), ip('192.0.2.7')]
  const certificate = await signed(await servingRequest(names, { expirationSeconds: 86_400 }))
  expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1'])
  expect(certificate.subjectAltName).toBe('DNS:n1, IP Address:192.0.2.7')
  expect(certificate.validToDate.getTime()).toBe(NOW + DAY)
})

test('no certificate is valid for longer than is permitted, or mostly past when it is issued', async () => {
  const brief = createRequestAuthority({ ...options, maxLife: HOUR })
  const certificate = await signed(await clientRequest(), brief)
  expect(certificate.validToDate.getTime()).toBe(NOW + HOUR)
  expect(certificate.validFromDate.getTime()).toBe(NOW - HOUR / 10)
  const usual = await signed(await clientRequest())
  expect(usual.validFromDate.getTime()).toBe(NOW - HOUR)
})

test.each<[string, Parts, Partial<SigningRequest>]>([
  ['organization must be system:nodes', { subject: 'O=system:masters, CN=system:node:n1' }, {}],
  ['common name must be system:node:NAME', { subject: 'O=system:nodes, CN=admin' }, {}],
  ['usages must be digital signature, client auth', {}, { usages: [...CLIENT, 'cert sign'] }],
  ['is damaged, or not signed', { change: withOtherBits }, {}],
])('whoever approved it, nothing is signed: the %s', async (problem, parts, more) => {
  expect(await authority.sign(await clientRequest(parts, more))).toEqual({
    problem: expect.stringContaining(problem),
  })
})
