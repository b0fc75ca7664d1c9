import { join } from 'node:path'
import {
  readSigningKey,
  readVerificationKey,
  type SigningKey,
  type VerificationKey,
} from '../../auth/tokens/signing-key.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { newKey, readIfPresent } from '../certificates/pem.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { writePrivateFile } from '../system/private-file.ts'

/** The keys of the tokens of service accounts. */
export interface AccountKeys {
  readonly signing: SigningKey
  /** Includes the signing key. */
  readonly verification: readonly VerificationKey[]
}

/** A file of keys in PEM, as it was read. */
export interface KeyFile {
  readonly path: string
  readonly text: string
}

type Paths = Pick<OrchServerConfiguration, 'dataDir' | 'serviceAccounts'>

/** The path of the file with the signing key. */
export function signingKeyPath({ dataDir, serviceAccounts }: Paths): string {
  return serviceAccounts.signingKeyFile || join(dataDir, 'pki', 'sa.key')
}

/**
 * Checks the keys that an operator gives, and the generated one if it exists.
 * @throws NP_AUTH_KEY, NP_ORCHSERVER_CERTIFICATE
 */
export async function checkKeyFiles(config: Paths): Promise<void> {
  const { signingKeyFile, keyFiles } = config.serviceAccounts
  const isMade =
    signingKeyFile === '' && (await readIfPresent(signingKeyPath(config))) === undefined
  const files = await (isMade ? Promise.all(keyFiles.map(readKeyFile)) : readKeyFiles(config))
  if (files.length > 0) parseAccountKeys(files)
}

/** Creates the signing key if none is configured and none exists yet. */
export async function ensureSigningKey(config: Paths): Promise<void> {
  if (config.serviceAccounts.signingKeyFile !== '') return
  const path = signingKeyPath(config)
  if ((await readIfPresent(path)) === undefined) await writePrivateFile(path, newKey())
}

/**
 * The files of all keys, the one with the signing key first.
 * @throws NP_AUTH_KEY, NP_ORCHSERVER_CERTIFICATE
 */
export async function readKeyFiles(config: Paths): Promise<readonly KeyFile[]> {
  const paths = [signingKeyPath(config), ...config.serviceAccounts.keyFiles]
  return Promise.all(paths.map(readKeyFile))
}

async function readKeyFile(path: string): Promise<KeyFile> {
  const text = await readIfPresent(path)
  if (text === undefined) throw unusable(path, 'the file does not exist')
  return { path, text }
}

/**
 * The first key of the first file signs; tokens of every key are accepted.
 * @throws NP_AUTH_KEY
 */
export function parseAccountKeys(files: readonly KeyFile[]): AccountKeys {
  const [first] = files
  if (first === undefined) throw new TypeError('there is no file of keys')
  const signing = readSigningKey(blocksOf(first)[0]!, first.path)
  const all = files.flatMap((file) =>
    blocksOf(file).map((block) => readVerificationKey(block, file.path)),
  )
  return { signing, verification: [...new Map(all.map((key) => [key.id, key])).values()] }
}

/** A block may have headers with hyphens, such as `DEK-Info: AES-128-CBC`. */
const BLOCK = /-----BEGIN ((?:[A-Z]+ )*KEY)-----(?:(?!-----)[\s\S])+-----END \1-----/g

/** The PEM blocks of keys in a file. Curve parameters, which openssl writes before a key, are left out. */
function blocksOf({ path, text }: KeyFile): readonly string[] {
  const blocks = text.match(BLOCK) ?? []
  const begun = text.match(/-----BEGIN [A-Z ]*KEY-----/g)?.length ?? 0
  if (blocks.length === 0) throw unusable(path, 'the file holds no key in PEM')
  // PKCS #8 says so in the label of the block, older formats in a header.
  if (blocks.some((block) => block.includes('ENCRYPTED'))) {
    throw unusable(path, 'the file holds a key with a passphrase')
  }
  if (blocks.length < begun) throw unusable(path, 'the file holds a key that is cut off')
  return blocks
}

function unusable(path: string, what: string): NodeProxyError {
  return new NodeProxyError('NP_AUTH_KEY', `${path}: no key for tokens: ${what}`, {
    object: path,
    hint: 'make one by `openssl ecparam -name prime256v1 -genkey -noout`, and name its file with --service-account-signing-key-file or --service-account-key-file',
  })
}
