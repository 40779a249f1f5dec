/**
 * The synonyms and product names that searches know (reference/search). All words are folded and singular.
 */

/** Words that say nothing about an entry. */
export const FILLERS: ReadonlySet<string> = new Set(
  (
    'a an and any at by can connector for from how i in integration is it mcp me my need of on or our please server ' +
    'some that the this to tool using via want we what which with your'
  ).split(' '),
);

/** Words that an entry may lack, because they describe almost every entry. */
export const MINOR = (
  'access account add agent ai api app best build call change check client control create data delete do edit execute ' +
  'find free get handle info information interact list local look manage modify new official open perform query read ' +
  'run search send service show update use user view work write'
).split(' ');

/** Synonyms and abbreviations of every search (reference/search). */
export const BUILT_IN: readonly (readonly string[])[] = [
  ['postgres', 'postgresql'],
  ['k8s', 'kubernetes'],
  ['aws', 'amazon'],
  ['gcp', 'google'],
  ['js', 'javascript'],
  ['ts', 'typescript'],
  ['db', 'database'],
  ['repo', 'repository'],
  ['auth', 'authentication'],
  ['docs', 'documentation'],
];

/** Synonyms and abbreviations of tolerant searches only. */
export const SAME_MEANING: readonly (readonly string[])[] = [
  'analytic analysis analyze',
  'bill billing cost spend spending expense price',
  'car vehicle',
  'chart plot diagram',
  'crawl scrape',
  'dir directory folder',
  'edu education school',
  'film movie',
  'football soccer',
  'gh github',
  'hf huggingface',
  'image picture photo',
  'task todo',
  'localization translation translate',
  'log logging',
  'mail email',
  'map gis geospatial',
  'ms microsoft',
  'notification notify alert',
  'paper article',
  'pg postgres',
  'railway rail train',
  'shell terminal command cli',
  'shop store ecommerce',
  'speech voice',
  'spreadsheet sheet excel',
  'ticket issue',
  'website site webpage',
].map((group) => group.split(' '));

/** Products, and the words by which people search for them: purpose, maker and other names. */
const PRODUCTS = `
postgres postgresql mysql mariadb sqlite mssql oracle cockroachdb neon supabase oceanbase singlestore: database sql relational
mongodb mongo couchbase cassandra dynamodb arangodb firestore: database nosql document
redis valkey memcached momento: database cache key value
qdrant pinecone milvus chroma weaviate pgvector vectorize: vector database embedding semantic rag
neo4j memgraph arangodb neptune: graph database
influxdb timescaledb greptimedb iotdb questdb: time series database metric
snowflake bigquery redshift databricks clickhouse teradata duckdb motherduck athena: data warehouse database sql analytics
elasticsearch opensearch meilisearch typesense algolia solr lucene: search engine full text index
kafka rabbitmq pulsar nats sqs: message queue broker event streaming
airflow prefect dagster dbt airbyte fivetran keboola: data pipeline workflow orchestration etl
grafana prometheus datadog dynatrace newrelic honeycomb axiom splunk logfire: monitoring observability metric log alert dashboard trace
sentry raygun bugsnag rollbar: error exception crash bug tracking monitoring
pagerduty opsgenie: incident alert oncall
jira linear asana trello monday clickup plane youtrack shortcut: project management issue ticket task board sprint bug tracker
todoist ticktick gtasks: todo task list reminder
servicenow zendesk freshdesk intercom: customer support helpdesk ticket incident itsm
atlassian: jira confluence trello bitbucket issue ticket wiki
confluence notion outline obsidian onenote evernote: note wiki knowledge base page
github gitlab bitbucket gitee gitea: git code repository pull merge request issue version control
circleci jenkins bitrise buildkite argocd: ci cd continuous integration build pipeline deployment
kubernetes k8s openshift helm: container pod cluster kubectl orchestration deployment
docker podman: container image
terraform pulumi ansible cloudformation: infrastructure code iac provisioning cloud
aws azure gcp cloudflare heroku vercel netlify digitalocean: cloud hosting deployment infrastructure
s3 minio gcs: amazon aws bucket object storage file
box dropbox gdrive onedrive sharepoint: file storage sharing document cloud drive
okta auth0 keycloak descope cognito: sso identity login authentication authorization user oauth iam
terraform consul nomad vault packer: hashicorp
vault bitwarden 1password: secret password credential
kong higress apisix: api gateway
playwright puppeteer selenium browserbase hyperbrowser chrome: browser automation web testing e2e screenshot
firecrawl apify oxylabs brightdata scrapling agentql: web scraping crawl website extraction
tavily exa kagi brave perplexity bing duckduckgo searxng: web internet search
n8n zapier integromat: workflow automation integration
slack discord teams telegram whatsapp lark mattermost: chat message messaging channel
lark: feishu
imessage: apple sms text message chat
gmail outlook mailgun sendgrid resend imap smtp: email mail inbox
gmail gtasks bigquery firebase youtube vertexai: google
excel word powerpoint outlook onenote teams sharepoint mssql azure: microsoft office 365
ical caldav calendly: calendar event meeting schedule appointment
zoom meet webex: video meeting call conference
pushover ntfy: push notification alert
stripe paypal paddle chargebee adyen square: payment billing subscription checkout invoice
xero quickbooks ynab: accounting bookkeeping invoice finance budget
salesforce hubspot pipedrive: crm sales customer contact lead
shopify woocommerce magento: ecommerce shop store product order
figma sketch: design ui mockup prototype
cloudinary imgur: image media upload
airtable sheets: spreadsheet table excel
powerpoint pptx: presentation slide deck
word docx: document
pandoc markdownify: convert document pdf docx markdown format
elevenlabs: text speech voice audio tts
youtube vimeo: video transcript subtitle
spotify: music song playlist streaming
ableton reaper: music audio daw production
blender kicad: 3d cad model design
unity godot unreal: game engine development
arxiv pubmed dblp scholarly: research paper academic science publication
pubchem: chemistry molecule compound
tmdb imdb: movie film tv
openweather: weather forecast temperature
qgis mapbox openstreetmap: map location geocoding geospatial
airbnb amadeus booking: travel hotel flight trip accommodation
flightradar24: flight aviation plane
strava garmin: fitness running workout sport
homeassistant hass: smart home automation iot device
arduino mqtt: iot device hardware robotics
coinmarketcap coingecko coinbase: crypto cryptocurrency coin price market
bitcoin ethereum solana uniswap evm algorand hyperliquid: crypto cryptocurrency blockchain coin token web3 defi
alphavantage morningstar nasdaq metatrader edgar: stock finance financial market trading
crowdstrike semgrep snyk codacy opencti sonarqube: security vulnerability threat scan
twitter x: twitter tweet post
twitter x mastodon bluesky linkedin instagram facebook reddit: social media post
whatsapp instagram facebook: meta
wordpress contentful ghost drupal strapi webflow: cms content website blog
langfuse opik phoenix: llm tracing evaluation prompt observability
openai: chatgpt gpt
huggingface replicate ollama: ai model inference hugging face
mem0 cognee membase memory: memory knowledge remember
e2b riza forevervm: code execution sandbox run python
jmeter k6 gatling locust: load performance test
postman openapi swagger: api test rest
deepl lara lingo: translation translate localization language
quickchart vegalite mermaid plotly: chart graph diagram visualization plot
neovim vim vscode jetbrains intellij: editor ide
iterm terminal powershell: shell terminal command console
anki: flashcard learning
whois: domain dns
`;

const topics = new Map<string, string>();
for (const line of PRODUCTS.trim().split('\n')) {
  const [products = '', words = ''] = line.split(': ');
  for (const product of products.split(' ')) topics.set(product, `${topics.get(product) ?? ''}${words}\n`);
}

/** Returns the words by which people search for a product with this name; empty for most words. */
export function topicsOf(word: string): string {
  return topics.get(word) ?? topics.get(word.replace(/mcp$/, '')) ?? '';
}
