/** An event as parsed JSON, which may be damaged at will. */
export type Loose = Record<string, unknown>

type Plant = (events: readonly Loose[], i: number) => unknown
type Applies = (event: Loose, i: number, events: readonly Loose[]) => boolean

/** How one kind of damage is done to the event at a place, and at which places it is damage. */
export type Damage = readonly [Plant, Applies]

const data = (event: Loose | undefined) => (event?.data ?? {}) as Loose
const renumber = (events: readonly Loose[]) => events.map((event, i) => ({ ...event, seq: i + 1 }))
const at = (events: readonly Loose[], i: number) => events[i] ?? {}

const type =
  (...types: readonly string[]): Applies =>
  (event) =>
    types.includes(String(event.type))
const isChange = type('conversation.state.changed')
const isQuestion = type('user.input.required')
const isReply = type('interaction.reply.accepted')
const isTimeout = type('interaction.auto_decide.timeout')
const isClosed = type('interaction.closed')
const isFinal = type('assistant.message.final')
const isWarning = type('diagnostic.warning')
const always: Applies = () => true
const to =
  (...states: readonly string[]): Applies =>
  (event, i, events) =>
    isChange(event, i, events) && states.includes(String(data(event).to))
const from =
  (state: string): Applies =>
  (event, i, events) =>
    isChange(event, i, events) && data(event).from === state
const ends = to('succeeded', 'failed', 'canceled')
const waits = to('waiting_user')
const not =
  (applies: Applies): Applies =>
  (...all) =>
    !applies(...all)
const both =
  (...all: readonly Applies[]): Applies =>
  (...given) =>
    all.every((applies) => applies(...given))
const either =
  (...all: readonly Applies[]): Applies =>
  (...given) =>
    all.some((applies) => applies(...given))
const closes = either(isReply, isTimeout, isClosed)
/** The run has not ended or asked yet, and the next event is where it begins to. */
const later: Applies = (_, i) => i > 0

const change =
  (fields: Loose): Plant =>
  (events, i) =>
    events.with(i, { ...at(events, i), ...fields })
const say =
  (fields: Loose): Plant =>
  (events, i) =>
    events.with(i, { ...at(events, i), data: { ...data(events[i]), ...fields } })
const drop =
  (name: string): Plant =>
  (events, i) => {
    const { [name]: _, ...rest } = at(events, i)
    return events.with(i, rest)
  }
const unsay =
  (name: string): Plant =>
  (events, i) => {
    const { [name]: _, ...rest } = data(events[i])
    return events.with(i, { ...at(events, i), data: rest })
  }
const terminal =
  (fields: Loose): Plant =>
  (events, i) =>
    say({ terminal: { ...(data(events[i]).terminal as Loose), ...fields } })(events, i)
const error =
  (fields: Loose): Plant =>
  (events, i) =>
    terminal({ error: { ...((data(events[i]).terminal as Loose).error as Loose), ...fields } })(events, i)
/** The same event as one of another type. */
const as =
  (name: string, made: (event: { data: Loose; ts: unknown }) => Loose): Plant =>
  (events, i) =>
    events.with(i, { ...at(events, i), type: name, data: made({ data: data(events[i]), ts: at(events, i).ts }) })
const cut: Plant = (events, i) => renumber(events.toSpliced(i, 1))
const put =
  (made: (event: Loose) => Loose, where = 0): Plant =>
  (events, i) =>
    renumber(events.toSpliced(i + where, 0, made(at(events, i))))
const warning = (event: Loose): Loose => ({ ...event, type: 'diagnostic.warning', data: { code: 'x' } })
const question = (event: Loose): Loose => ({
  ...event,
  type: 'user.input.required',
  data: { kind: 'confirm', prompt: 'Really?', interaction_id: 'int_99' },
})
const isAlone: Applies = (_, i, events) => !isQuestion(at(events, i - 1), i - 1, events)
/** The question of a group that is not the first, so that another one is named as pending. */
const isSecond: Applies = (event, i, events) => isQuestion(event, i, events) && !isAlone(event, i, events)
/** The questions of the first wait stay open here: a reply before has not closed them. */
const isAskedTwice: Applies = (event, i, events) =>
  isQuestion(event, i, events) &&
  events
    .slice(0, i)
    .some((other) => isQuestion(other, i, events) && data(other).interaction_id === data(event).interaction_id)

const other = '1999-12-31T23:59:59.999Z'

/** Every kind of damage that the checker has to find, by name. */
export const damages: Readonly<Record<string, Damage>> = {
  // The list and its events.
  'the stream is no list': [(events) => ({ items: events }), always],
  'an event is null': [(events, i) => events.with(i, null as unknown as Loose), always],
  'an event is a text': [(events, i) => events.map((event, k) => (k === i ? JSON.stringify(event) : event)), always],
  'an event is a list': [(events, i) => events.map((event, k) => (k === i ? [event] : event)), always],
  'a hole': [(events, i) => events.map((event, k) => (k === i ? undefined : event)), always],

  'a question is asked twice in a row': [put((event) => event), isQuestion],

  // The envelope.
  ...Object.fromEntries(
    ['protocol_version', 'run_id', 'seq', 'ts', 'engine', 'type', 'data', 'meta'].flatMap((name) => [
      [`no ${name}`, [drop(name), always] satisfies Damage],
      [`${name} is null`, [change({ [name]: null }), always] satisfies Damage],
    ]),
  ),
  'another protocol': [change({ protocol_version: 'fcmp/0.9' }), always],
  'another run': [change({ run_id: 'run_9' }), always],
  'no run at all': [change({ run_id: '' }), always],
  'another engine': [change({ engine: 'someone else' }), later],
  'an engine without a name': [change({ engine: '' }), always],
  'a number as a text': [(events, i) => change({ seq: String(at(events, i).seq) })(events, i), always],
  'a number of 0': [change({ seq: 0 }), always],
  'half a number': [(events, i) => change({ seq: Number(at(events, i).seq) + 0.5 })(events, i), always],
  'a number is skipped': [(events, i) => change({ seq: Number(at(events, i).seq) + 1 })(events, i), always],
  'a number comes twice': [(events, i) => change({ seq: at(events, i - 1).seq })(events, i), later],
  'a time that is none': [change({ ts: 'yesterday' }), always],
  'a time as a number': [change({ ts: 1_700_000_000_000 }), always],
  'a time with an offset': [change({ ts: '2026-01-31T23:59:59.999+01:00' }), always],
  'a day that no month has': [change({ ts: '2026-02-30T00:00:00.000Z' }), always],
  'a time before the last': [change({ ts: other }), both(later, isWarning)],
  'a type that is none': [change({ type: 'conversation.started' }), always],
  'a type with the data of another': [change({ type: 'assistant.message.final' }), not(isFinal)],
  'data as a text': [(events, i) => change({ data: JSON.stringify(data(events[i])) })(events, i), always],
  'no attempt': [change({ meta: {} }), always],
  'attempt 0': [change({ meta: { attempt: 0 } }), always],
  'a later attempt': [
    (events, i) => change({ meta: { attempt: Number((at(events, i).meta as Loose).attempt) + 1 } })(events, i),
    always,
  ],
  'an attempt as a text': [change({ meta: { attempt: '1' } }), always],
  'a field beside the envelope': [change({ level: 'info' }), always],
  'a field beside the data': [say({ level: 'info' }), always],
  'a field beside the attempt': [
    (events, i) => change({ meta: { ...(at(events, i).meta as Loose), level: 1 } })(events, i),
    always,
  ],

  // The order of events.
  'an event is missing, and its number': [
    (events, i) => events.toSpliced(i, 1),
    (_, i, events) => i < events.length - 1,
  ],
  'a change is missing': [cut, both(isChange, (event) => data(event).from !== data(event).to)],
  'the last change is missing': [cut, ends],
  'a change comes twice': [put((event) => event), isChange],
  'a change comes before what explains it': [
    (events, i) => renumber(events.with(i, at(events, i - 1)).with(i - 1, at(events, i))),
    both(isChange, (_, i, events) => either(isReply, isTimeout, isFinal, isQuestion)(at(events, i - 1), i, events)),
  ],
  'the stream comes backwards': [
    (events) => renumber(events.toReversed()),
    (_, i, events) => i === 0 && events.length > 1,
  ],
  'the beginning is missing': [
    (events) => renumber(events.slice(1)),
    (event, i) => i === 0 && data(event).to === 'running',
  ],
  'something after the end': [put(warning, 1), ends],
  'a second end': [put((event) => event, 1), ends],
  'something between a reply and its change': [
    put(warning, 1),
    both(either(isReply, isTimeout), (_, i, events) => data(at(events, i + 1)).from === 'waiting_user'),
  ],
  'something between the last message and the end': [put(warning, 1), isFinal],
  'something between a question and the wait': [
    put(warning, 1),
    both(isQuestion, (_, i, events) => waits(at(events, i + 1), i + 1, events)),
  ],

  // Changes.
  'it leaves another state': [say({ from: 'succeeded' }), isChange],
  'it leaves a state that is none': [say({ from: 'asleep' }), isChange],
  'it goes to a state that is none': [say({ to: 'somewhere' }), isChange],
  'no to': [unsay('to'), isChange],
  'no trigger': [unsay('trigger'), isChange],
  'a trigger that is none': [say({ trigger: 'made.up' }), isChange],
  'a trigger of another move': [say({ trigger: 'turn.failed' }), to('canceled')],
  'a request passes for a change': [say({ from: 'running', to: 'running', trigger: 'request' }), isChange],
  'a move that no edge has': [
    say({ to: 'succeeded', terminal: { status: 'succeeded' } }),
    to('waiting_user', 'queued'),
  ],
  'a change at another time': [say({ updated_at: other }), isChange],
  'no updated_at': [unsay('updated_at'), isChange],
  'an end that does not say how': [unsay('terminal'), ends],
  'an end that is none': [say({ terminal: { status: 'succeeded' } }), both(isChange, not(ends))],
  'an end as something else': [
    (events, i) => terminal({ status: data(events[i]).to === 'canceled' ? 'succeeded' : 'canceled' })(events, i),
    ends,
  ],
  'an end with a status that is none': [terminal({ status: 'done' }), ends],
  'a failure without a reason': [say({ terminal: { status: 'failed' } }), to('failed')],
  'a failure without a code': [error({ code: '' }), to('failed')],
  'a failure of a category that is none': [error({ category: 'weather' }), to('failed')],
  'a failure with a message that is no text': [error({ message: { text: 'It broke.' } }), to('failed')],
  'a success with a reason of failure': [
    terminal({ error: { category: 'run', code: 'X' } }),
    to('succeeded', 'canceled'),
  ],

  // The open questions of a run.
  'a wait for what was not asked': [say({ pending_interaction_id: 'int_99' }), waits],
  'a wait that names no question': [unsay('pending_interaction_id'), waits],
  'a wait that names the second question': [
    (events, i) => say({ pending_interaction_id: data(events[i - 1]).interaction_id })(events, i),
    both(waits, (_, i, events) => isSecond(at(events, i - 1), i - 1, events)),
  ],
  'a wait without a question': [
    (events, i) => renumber(events.filter((event, k) => k > i || k < i - 5 || !isQuestion(event, k, events))),
    both(waits, (_, i, events) => !isSecond(at(events, i - 5), i - 5, events)),
  ],
  'a question of something that does not wait': [say({ pending_interaction_id: 'int_1' }), both(isChange, not(waits))],

  // Questions.
  'a question of a kind that is none': [say({ kind: 'guess' }), isQuestion],
  'a question without a kind': [unsay('kind'), isQuestion],
  'a question that says nothing': [say({ prompt: '' }), isQuestion],
  'a question without a prompt': [unsay('prompt'), isQuestion],
  'a question with another id': [say({ interaction_id: 'int_99' }), isQuestion],
  'a question with an empty id': [say({ interaction_id: '' }), isQuestion],
  'a question in the queue': [put(question, 1), both(to('queued'))],
  'a question that is never closed': [
    put(question),
    both(isChange, (event) => data(event).from === 'running', not(waits)),
  ],
  'an open question is not asked again': [cut, both(isAskedTwice, isSecond)],
  'a question is asked after it was closed': [
    (events, i) =>
      put((event) => ({
        ...question(event),
        data: { ...data(question(event)), interaction_id: data(events[i - 1]).interaction_id },
      }))(events, i),
    both(later, isChange, (_, i, events) => closes(at(events, i - 1), i, events)),
  ],

  // How questions end.
  'an answer to what was not asked': [say({ interaction_id: 'int_99' }), closes],
  'an answer without its question': [unsay('interaction_id'), closes],
  'an answer comes twice': [put((event) => event), closes],
  'an answer is missing': [cut, closes],
  'an answer in another way': [say({ resolution_mode: 'coin_toss' }), closes],
  'an answer in no way': [unsay('resolution_mode'), closes],
  'an answer at another time': [say({ accepted_at: other }), either(isReply, isTimeout)],
  'an answer at no time': [unsay('accepted_at'), either(isReply, isTimeout)],
  'a closing at another time': [say({ closed_at: other }), isClosed],
  'a closing with an empty reason': [say({ reason: '' }), isClosed],
  'silence does what it cannot': [say({ policy: 'shrug' }), isTimeout],
  'silence does nothing': [unsay('policy'), isTimeout],
  'a reply passes for a timeout': [
    as('interaction.auto_decide.timeout', ({ data: said }) => ({
      ...said,
      resolution_mode: 'auto_decide_timeout',
      policy: 'cancel',
    })),
    both(isReply, (_, i, events) => from('waiting_user')(at(events, i + 1), i + 1, events)),
  ],
  'a waiting run loses its question and goes on': [
    as('interaction.closed', ({ data: { interaction_id }, ts }) => ({
      interaction_id,
      resolution_mode: 'withdrawn',
      closed_at: ts,
    })),
    both(either(isReply, isTimeout), (_, i, events) => from('waiting_user')(at(events, i + 1), i + 1, events)),
  ],
  'an answer that moves nothing': [
    as('interaction.reply.accepted', ({ data: { interaction_id }, ts }) => ({
      interaction_id,
      resolution_mode: 'user_reply',
      accepted_at: ts,
    })),
    both(isClosed, (_, i, events) => from('waiting_user')(at(events, i + 1), i + 1, events)),
  ],
  'a question is left to the inbox, and the run goes on': [
    as('interaction.closed', ({ data: { interaction_id }, ts }) => ({
      interaction_id,
      resolution_mode: 'left_to_inbox',
      closed_at: ts,
    })),
    both(closes, (_, i, events) => {
      const next = events.slice(i).find((event) => isChange(event, i, events))
      return next !== undefined && from('running')(next, i, events) && !ends(next, i, events)
    }),
  ],

  // The texts.
  'a last message that says nothing': [say({ text: '' }), isFinal],
  'a last message that is no text': [say({ text: ['Done.'] }), isFinal],
  'a last message without a sender': [unsay('message_id'), isFinal],
  'the last message is missing': [cut, isFinal],
  'a last message before another change': [
    put((event) => ({ ...event, type: 'assistant.message.final', data: { message_id: 'trn_1' } })),
    both(isChange, (event) => data(event).trigger !== 'turn.succeeded'),
  ],
  'a warning without a code': [unsay('code'), isWarning],
  'a warning with an empty message': [say({ message: '' }), isWarning],
  'a warning whose detail is an object': [say({ detail: { expected: [] } }), isWarning],
}
