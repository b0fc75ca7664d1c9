/** One field of a message, on the wire and in JSON. */
export interface Field {
  /** Its name in JSON. */
  readonly name: string
  /** Its number on the wire, within the message that holds it there. */
  readonly number: number
  /**
   * `string`, `bool`, `int32`, `int64`, `bytes` (base64 in JSON), or the name of a message; of the
   * elements or values where there are several.
   */
  readonly type: string
  /** `inline`: a message on the wire whose fields stand beside the others in JSON. */
  readonly shape: 'one' | 'repeated' | 'map' | 'inline'
  /**
   * What a zero scalar means: `implicit`, the same as none; `optional`, itself;
   * `always`, itself, and every typed client writes the field.
   */
  readonly presence: 'implicit' | 'optional' | 'always'
}
