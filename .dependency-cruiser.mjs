/** The rooms that everything which acts is built on. */
const acting = ['kernel', 'machines', 'runes', 'faults', 'wire', 'observation', 'runelog', 'runtime', 'coordinator']

/** What each room may touch. Read it top to bottom: nothing imports from below itself. */
const rooms = {
  kernel: [],
  faults: [],
  machines: ['kernel'],
  runes: ['kernel', 'machines'],
  coordinator: ['kernel', 'machines', 'runes', 'faults'],
  wire: ['kernel', 'machines', 'runes', 'coordinator'],
  observation: ['kernel', 'machines', 'runes', 'wire'],
  runelog: ['kernel', 'machines', 'runes', 'faults'],
  runtime: ['kernel', 'machines', 'runes', 'faults', 'wire', 'observation', 'runelog'],
  autonomy: acting,
  adapters: acting,
  surface: [...acting, 'autonomy'],
  server: [...acting, 'autonomy', 'surface'],
  cli: [...acting, 'autonomy', 'surface', 'server'],
}

const pure = 'kernel|faults|wire|machines|runes|observation|coordinator'
const src = (room) => `^src/${room}/`

/** Where the rooms are put together: these folders import every room, and the rules above let no room import them. */
const wiring = ['app', 'demo', 'entry']

export default {
  forbidden: [
    ...Object.entries(rooms).map(([room, may]) => ({
      name: `${room}-touches-only-its-own`,
      comment: `src/${room} may import ${may.join(', ') || 'nothing'}. Move the code, or pass the thing in.`,
      severity: 'error',
      from: { path: src(room) },
      to: { path: '^(src|console)/', pathNot: [room, ...may].map(src) },
    })),
    {
      name: 'every-file-has-a-room',
      comment: 'A folder under src that no rule knows would be free to import anything.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: [...Object.keys(rooms), ...wiring].map(src) },
      to: {},
    },
    {
      name: 'pure-rooms-stay-pure',
      comment: 'No clock, disk, network or process here: the console runs this code, and so does every replay.',
      severity: 'error',
      from: { path: `^src/(${pure})/` },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'packages-are-met-at-the-edge',
      comment:
        'Only adapters and server import packages; some rooms describe shapes with zod, and check foreign patterns with RE2.',
      severity: 'error',
      from: { path: '^src/[^/]+/', pathNot: '^src/(adapters|server)/' },
      to: { path: 'node_modules/', pathNot: 'node_modules/(zod|re2js)/' },
    },
    {
      name: 'zod-describes-shapes-only-where-shapes-are-checked',
      severity: 'error',
      from: { path: '^src/(kernel|faults|machines|observation|runelog|cli)/' },
      to: { path: 'node_modules/' },
    },
    {
      name: 'reasoning-sees-consequences-only',
      comment:
        'Red line: a turn reads the dialogue with its consequence views. Not even through another file may it reach a contract, a snapshot, a fold or the runelog.',
      severity: 'error',
      from: { path: '^src/runtime/turns/' },
      to: {
        path: '^src/(runelog|runtime|observation|wire/contract)',
        pathNot: '^src/runtime/(turns/|(model|ports|thrown)[.]ts$)',
        reachable: true,
      },
    },
    {
      name: 'reasoning-imports-no-records',
      comment:
        'Red line: a turn gets its types of records through src/wire, so that it can name no contract and no rune.',
      severity: 'error',
      from: { path: '^src/runtime/turns/' },
      to: { path: '^src/(machines|runes)/' },
    },
    {
      name: 'the-coordinator-reaches-nothing-that-executes',
      comment: 'Red line: it plans and judges. Not even through another room may it reach what acts.',
      severity: 'error',
      from: { path: '^src/coordinator/' },
      to: { path: '^src/(runtime|autonomy|adapters|server|cli|runelog)/', reachable: true },
    },
    {
      name: 'adapters-do-not-know-each-other',
      severity: 'error',
      from: { path: '^src/adapters/([^/]+)/' },
      to: { path: '^src/adapters/', pathNot: '^src/adapters/($1/|peer[.]ts$)' },
    },
    {
      name: 'console-sees-only-the-pure-rooms',
      severity: 'error',
      from: { path: '^console/' },
      to: { path: '^src/', pathNot: `^src/(${pure})/` },
    },
    { name: 'nothing-imports-main', severity: 'error', from: {}, to: { path: '^src/main[.]ts$' } },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'nothing-is-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}
