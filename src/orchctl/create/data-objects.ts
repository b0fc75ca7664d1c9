import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { systemCode } from '../../lib/error.ts'
import { quote, unquoted } from '../../lib/quote.ts'
import type { CommandContext } from '../session/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { repeated } from '../usage/global-flags.ts'
import { generates } from './generates.ts'

/** The flags from which Secrets and ConfigMaps get their data; see `addDataFlags`. */
interface DataFlags {
  readonly fromLiteral?: readonly string[]
  readonly fromFile?: readonly string[]
  readonly fromEnvFile?: readonly string[]
}

interface GenericFlags extends DataFlags {
  readonly type?: string
}

interface TlsFlags {
  readonly cert: string
  readonly key: string
}

/** `orchctl create secret generic|tls NAME`. */
export function defineSecrets(create: Command, context: CommandContext): void {
  const secret = create.command('secret').description('Create a Secret.')
  const generic = secret
    .command('generic')
    .description('Create a Secret from files and values.')
    .option('--type <type>', 'the type of the Secret')
  generates<GenericFlags>(addDataFlags(generic), context, async (name, flags) =>
    secretObject(name, flags.type ?? 'Opaque', await dataOf(flags)),
  )
  const tls = secret
    .command('tls')
    .description('Create a Secret from a certificate and its key.')
    .requiredOption('--cert <file>', 'the certificate, PEM')
    .requiredOption('--key <file>', 'its private key, PEM')
  generates<TlsFlags>(tls, context, async (name, { cert, key }) => {
    const data = new Map([
      ['tls.crt', await bytesOf(cert)],
      ['tls.key', await bytesOf(key)],
    ])
    return secretObject(name, 'kubernetes.io/tls', data)
  })
}

function secretObject(name: string, type: string, data: ReadonlyMap<string, Buffer>) {
  const encoded = [...data].map(([key, bytes]) => [key, bytes.toString('base64')] as const)
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name },
    type,
    ...(encoded.length === 0 ? {} : { data: Object.fromEntries(encoded) }),
  }
}

/** `orchctl create configmap NAME`. */
export function defineConfigMap(create: Command, context: CommandContext): void {
  const command = create
    .command('configmap')
    .alias('cm')
    .description('Create a ConfigMap from files and values.')
  generates<DataFlags>(addDataFlags(command), context, async (name, flags) => {
    const all = [...(await dataOf(flags))]
    const texts = all.filter(([, bytes]) => isText(bytes))
    const binary = all.filter(([, bytes]) => !isText(bytes))
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      ...(texts.length === 0
        ? {}
        : { data: Object.fromEntries(texts.map(([key, bytes]) => [key, bytes.toString('utf8')])) }),
      ...(binary.length === 0
        ? {}
        : {
            binaryData: Object.fromEntries(
              binary.map(([key, bytes]) => [key, bytes.toString('base64')]),
            ),
          }),
    }
  })
}

/** Whether the bytes are valid UTF-8; other bytes go into `binaryData`. */
function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}

/** Adds the flags of `DataFlags` to a command. */
function addDataFlags(command: Command): Command {
  return command
    .addOption(repeated('--from-literal <key=value>', 'a key and its value'))
    .addOption(
      repeated('--from-file <[key=]path>', 'a file, under KEY or its own name; or a folder'),
    )
    .addOption(repeated('--from-env-file <path>', 'a file of KEY=VALUE lines'))
}

/** The keys that Secrets and ConfigMaps may have: they become the names of files. */
const KEY = /^(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}$/

/**
 * Reads the data that the flags give, by key. An error names keys and files and never contains a value, because a
 * value may be secret.
 * @throws NP_ORCHCTL_USAGE
 */
async function dataOf(flags: DataFlags): Promise<ReadonlyMap<string, Buffer>> {
  const data = new Map<string, Buffer>()
  const add = (key: string, value: Buffer): void => {
    if (data.has(key)) throw usageError(`the key ${quote(key)} is given twice`)
    if (!KEY.test(key)) {
      throw usageError(
        `${quote(key)} is no key`,
        'write letters, digits, -, _ and .; not . alone, nor .. at the beginning',
      )
    }
    data.set(key, value)
  }
  for (const [index, text] of (flags.fromLiteral ?? []).entries()) {
    const at = text.indexOf('=')
    // The message does not quote the text, because a text without a key may be the secret value.
    if (at <= 0) throw usageError(`--from-literal number ${index + 1} is not KEY=VALUE`)
    // As in kubectl, quotes around the value are removed if the shell left them.
    add(text.slice(0, at), Buffer.from(unquoted(text.slice(at + 1))))
  }
  for (const text of flags.fromFile ?? []) {
    const [, key, path] = /^(?:([^=]+)=)?(.+)$/su.exec(text) ?? []
    for (const file of await filesOf(path ?? text, key)) add(file.key, await bytesOf(file.path))
  }
  for (const path of flags.fromEnvFile ?? []) {
    const lines = (await bytesOf(path)).toString('utf8').split(/\r?\n/u)
    for (const [index, line] of lines.entries()) addLine(line, `${path}:${index + 1}`, add)
  }
  return data
}

/** Adds the key and value of one line of an env file; skips empty lines and comments. `place`: `PATH:LINE`. */
function addLine(line: string, place: string, add: (key: string, value: Buffer) => void): void {
  const text = line.trimStart()
  if (text === '' || text.startsWith('#')) return
  const at = text.indexOf('=')
  if (at <= 0) throw usageError(`${place}: the line is not KEY=VALUE`)
  add(text.slice(0, at), Buffer.from(text.slice(at + 1)))
}

/** A file, with `key` or else its name as the key; or the files directly in a folder, with their names as keys. */
async function filesOf(path: string, key: string | undefined) {
  const found = await stat(path).catch((error: unknown) => unreadable(path, error))
  if (!found.isDirectory()) return [{ key: key ?? basename(path), path }]
  if (key !== undefined) throw usageError(`${quote(path)} is a folder, which has no key`)
  const entries = await readdir(path, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return files.sort().map((name) => ({ key: name, path: join(path, name) }))
}

async function bytesOf(path: string): Promise<Buffer> {
  return readFile(path).catch((error: unknown) => unreadable(path, error))
}

function unreadable(path: string, error: unknown): never {
  const code = systemCode(error)
  throw usageError(`the file ${quote(path)} cannot be read: ${code}`)
}
