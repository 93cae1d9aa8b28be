mod files;
mod journeys;
mod world;
