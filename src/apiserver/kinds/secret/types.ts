/** What a type of Secret demands of its data. */
export interface SecretType {
  readonly keys: readonly string[]
  /** One of the keys is enough. */
  readonly any?: true
  /** The value of the key is a JSON object. */
  readonly json?: true
}

/** The types with rules, of both brands; any other type is the user's own affair. */
export const SECRET_TYPES: ReadonlyMap<string, SecretType> = new Map<string, SecretType>([
  ['orch.io/registryconfigjson', { keys: ['.registryconfigjson'], json: true }],
  ['orch.io/registrycfg', { keys: ['.registrycfg'], json: true }],
  ['kubernetes.io/dockerconfigjson', { keys: ['.dockerconfigjson'], json: true }],
  ['kubernetes.io/dockercfg', { keys: ['.dockercfg'], json: true }],
  ...['orch.io', 'kubernetes.io'].flatMap((brand): readonly [string, SecretType][] => [
    [`${brand}/basic-auth`, { keys: ['username', 'password'], any: true }],
    [`${brand}/ssh-auth`, { keys: ['ssh-privatekey'] }],
    [`${brand}/tls`, { keys: ['tls.crt', 'tls.key'] }],
  ]),
])
