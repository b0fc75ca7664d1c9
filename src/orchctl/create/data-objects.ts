import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { quote } from '../../lib/quote.ts'
import type { CommandContext } from '../command/command-module.ts'
import { usageError } from '../usage/exit-code.ts'
import { addDataFlags, type DataFlags, dataOf } from './file-data.ts'
import { generates } from './generates.ts'

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

async function bytesOf(path: string): Promise<Buffer> {
  return readFile(path).catch(() => {
    throw usageError(`the file ${quote(path)} cannot be read`)
  })
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

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}
