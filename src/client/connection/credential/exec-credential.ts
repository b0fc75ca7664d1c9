import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../../lib/json.ts'
import { printable } from '../../../lib/quote.ts'
import { bearer, type Credential, type CredentialSource } from './credential.ts'
import { checkToken } from './token-file.ts'

/** The supported versions of ExecCredential, the API of client-go credential plugins. */
export type ExecApiVersion =
  | 'client.authentication.k8s.io/v1'
  | 'client.authentication.k8s.io/v1beta1'

/** The `exec` entry of a kubeconfig user. */
export interface ExecPlugin {
  readonly apiVersion: ExecApiVersion
  /** A name to search for in PATH, or an absolute path. */
  readonly command: string
  readonly args: readonly string[]
  /** Variables that are added to the environment of this process. */
  readonly env: Readonly<Record<string, string>>
  /** How to install the plugin; it becomes the hint of errors. */
  readonly installHint: string | undefined
  /** `spec.cluster` in the variable KUBERNETES_EXEC_INFO; undefined unless `provideClusterInfo` is true. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined
}

interface Cached {
  readonly credential: Credential
  /** When the plugin must run again, in milliseconds since the epoch; Infinity if the credential has no expiry. */
  readonly renewAt: number
}

/**
 * A credential from a plugin. The plugin runs without a shell. It runs again only shortly before its credential
 * expires, or after the server refused it. Calls of `current` while it runs wait for the same run.
 */
export function execCredential(plugin: ExecPlugin, clock: Clock): CredentialSource {
  let cached: Cached | undefined
  let running: Promise<Cached> | undefined

  async function current(): Promise<Credential> {
    const fresh = cached
    if (fresh !== undefined && clock.now() < fresh.renewAt) return fresh.credential
    running ??= runPlugin(plugin, clock.now()).finally(() => {
      running = undefined
    })
    cached = await running
    return cached.credential
  }

  return {
    kind: 'exec',
    current,
    reject() {
      cached = undefined
      return true
    },
  }
}

/**
 * Milliseconds after which the plugin is stopped. This is the timeout of requests, too, so a plugin that hangs is
 * reported within half a minute.
 */
const TIMEOUT_MS = 25_000
/** Characters of stdout, and of stderr; the plugin is stopped if it writes more. */
const OUTPUT_LIMIT = 1024 * 1024
/** A long sequence of token characters. It is replaced in the stderr of a plugin, which errors show. */
const SECRET = /[A-Za-z0-9+/_=.-]{20,}/g

/**
 * Runs the plugin and reads its output. Loads execa on the first call, because few kubeconfigs have a plugin, and execa
 * takes 20 MiB of memory. `now`: milliseconds since the epoch. @throws NP_CLIENT_CREDENTIAL
 */
async function runPlugin(plugin: ExecPlugin, now: number): Promise<Cached> {
  const { execa } = await import('execa')
  const result = await execa(plugin.command, plugin.args, {
    shell: false,
    reject: false,
    stdin: 'ignore',
    timeout: TIMEOUT_MS,
    maxBuffer: OUTPUT_LIMIT,
    env: { ...plugin.env, KUBERNETES_EXEC_INFO: execInfo(plugin) },
  })
  if (result.failed) {
    const complaint = printable((result.stderr ?? '').replace(SECRET, '…')).slice(-200)
    const outcome = result.timedOut
      ? `no answer in ${TIMEOUT_MS / 1000} s`
      : exitText(result.exitCode, result.code)
    throw refusal(plugin, complaint === '' ? outcome : `${outcome}: ${complaint}`)
  }
  return readExecCredential(plugin, parseJson(result.stdout), now)
}

function exitText(exitCode: number | undefined, code: string | undefined): string {
  return exitCode === undefined
    ? `it did not run (${code ?? 'unknown error'})`
    : `it ended with exit code ${exitCode}`
}

/** The value of KUBERNETES_EXEC_INFO. */
function execInfo(plugin: ExecPlugin): string {
  const cluster = plugin.cluster === undefined ? {} : { cluster: plugin.cluster }
  const spec = { ...cluster, interactive: false }
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: plugin.apiVersion, spec })
}

/**
 * Milliseconds before its expiry at which a credential is renewed, so that it does not expire during a request. If its
 * remaining life is shorter than twice this time, it is renewed after half of that life.
 */
const EARLY_MS = 30_000

/** Checks and reads the ExecCredential that the plugin wrote. @throws NP_CLIENT_CREDENTIAL */
function readExecCredential(plugin: ExecPlugin, answer: unknown, now: number): Cached {
  if (!isJsonObject(answer) || answer['kind'] !== 'ExecCredential') {
    throw refusal(plugin, 'its output is not an ExecCredential')
  }
  if (answer['apiVersion'] !== plugin.apiVersion) {
    throw refusal(plugin, `its output is not of apiVersion ${plugin.apiVersion}`)
  }
  const status = isJsonObject(answer['status']) ? answer['status'] : {}
  const credential = { ...readToken(plugin, status), ...readCertificate(plugin, status) }
  if (credential.authorization === undefined && credential.certificate === undefined) {
    throw refusal(plugin, 'its output has neither status.token nor status.clientCertificateData')
  }
  const expiry = readExpiry(plugin, status)
  if (expiry === undefined) return { credential, renewAt: Number.POSITIVE_INFINITY }
  const early = Math.min(EARLY_MS, Math.max(0, (expiry - now) / 2))
  return {
    credential: { ...credential, validity: { ...credential.validity, to: expiry } },
    renewAt: expiry - early,
  }
}

function readToken(plugin: ExecPlugin, status: JsonObject): Credential {
  const token = status['token']
  if (typeof token !== 'string' || token === '') return {}
  return bearer(checkToken(token, plugin.command))
}

function readCertificate(plugin: ExecPlugin, status: JsonObject): Credential {
  const { clientCertificateData: cert, clientKeyData: key } = status
  if (cert === undefined && key === undefined) return {}
  if (typeof cert === 'string' && typeof key === 'string') return { certificate: { cert, key } }
  throw refusal(plugin, 'clientCertificateData and clientKeyData must come together')
}

/** The expiry in milliseconds since the epoch; undefined if the plugin states none. @throws NP_CLIENT_CREDENTIAL */
function readExpiry(plugin: ExecPlugin, status: JsonObject): number | undefined {
  const stamp = status['expirationTimestamp']
  if (stamp === undefined || stamp === null) return undefined
  const expiry = typeof stamp === 'string' ? Date.parse(stamp) : Number.NaN
  if (Number.isNaN(expiry)) throw refusal(plugin, 'status.expirationTimestamp is not a time')
  return expiry
}

function refusal(plugin: ExecPlugin, what: string): NodeProxyError {
  const message = `the credential plugin ${JSON.stringify(plugin.command)} failed: ${what}`
  const hint = plugin.installHint
  const details = { object: plugin.command, ...(hint === undefined ? {} : { hint }) }
  return new NodeProxyError('NP_CLIENT_CREDENTIAL', message, details)
}
