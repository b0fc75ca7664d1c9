/** One private word of the past, and the field's word for it. */
export interface RetiredWord {
  /** Lower-case forms. A space joins the words of a phrase; camelCase is split before it is compared. */
  readonly forms: readonly string[]
  /** What the field calls it. */
  readonly use: string
  /**
   * Where it may not stand: `text` is everywhere (identifiers, comments, strings, documents, file
   * names); `code` is identifiers alone, because English has other uses of the word; `file` is the
   * name of a file alone.
   */
  readonly where: 'text' | 'code' | 'file'
}

function word(forms: string, use: string, where: RetiredWord['where'] = 'text'): RetiredWord {
  return { forms: forms.split(', '), use, where }
}

/** Words that do not come back: private metaphors, and names of code for which the field has a word. */
export const RETIRED_WORDS: readonly RetiredWord[] = [
  word(
    'ask, asks, asked, asking, asker, tell, tells, told',
    'request, query, read; notify, report',
    'code',
  ),
  word('held against, hold against, holds against', 'checked against, compared with'),
  word('room, rooms', 'module (or space, where capacity is meant)'),
  word('house, houses, housekeeping', 'project, architecture'),
  word('face, faces', 'served version'),
  word('situation, situations', 'ModeInputs'),
  word('blueprint, blueprints', 'ModeSpec'),
  word('estate, estates', 'ManagedState'),
  word('territory, territories', 'OwnedChains'),
  word('ground, grounds', 'ModeRuntime', 'code'),
  word('lack, lacks, lacking', 'MissingRequirement', 'code'),
  word(
    'retire, retires, retiree, retirees, retiring, retirement, retirements',
    'drain, pending cleanup',
  ),
  word('owe, owes, owed, owing', 'pending cleanup'),
  word('door, doors, entrance, entrances', 'listener'),
  word('knock, knocks, knocked, knocking', 'connection request'),
  word('switchboard, switchboards', 'route table'),
  word('crew, crews', 'worker pool'),
  word('ledger, ledgers', 'forwarder state'),
  word('patrol, patrols', 'drift checker'),
  word('patience, impatience', 'deadline, timeout'),
  word('seat, seats', 'concurrency slot, in-flight limit'),
  word('breath, breaths', 'yieldToEventLoop'),
  word('deaf', 'noop'),
  word('ecosystem', 'Kubernetes'),
  word('back end, back ends', 'iptables variant (nft, legacy); backend'),
  word('shortcut, shortcuts', 'shortCircuit'),
  word('culprit, culprits', 'cause, the object'),
  word('heir, heirs, farewell', 'successor; end of stream'),
  word('hands, notes, attention, companions, fitness', 'what the file holds', 'file'),
]

/** Spellings that are no words: each with what stands instead. */
export const RETIRED_PATTERNS: readonly (readonly [pattern: RegExp, use: string])[] = [
  [/\btime-outs?\b/gi, 'timeout'],
  [/\b(?:MOST|LONGEST)_[A-Z_]+\b/g, 'MAX_…'],
  [/\b(?!MAX_)(?:[A-Z]+_)?ATTEMPTS\b/g, 'MAX_ATTEMPTS'],
  [
    /\b(?:class|interface|type) (?:Refusal|Serving|Outcome|Place|Ways?)\b/g,
    'a name that says of what: StatusError, KernelError, ServerContext, …',
  ],
]
